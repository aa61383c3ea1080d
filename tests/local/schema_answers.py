"""What Kubernetes 1.37.1 makes of texts: tables of its own answers, which nobody typed by hand.

Each table is lines in pairs: what was given, and below it, indented, what came out: JSON, or after an exclamation mark
the error.  DECODED, CONVERTED and YAML were asked of its Go modules, REFUSED and CUSTOM of a running API server.
"""

# ruff: noqa: E501

QUANTITIES = r"""
"0"
    "0"
"1"
    "1"
"1000m"
    "1"
"1500m"
    "1500m"
"1.5"
    "1500m"
"0.5"
    "500m"
"100m"
    "100m"
"1024Mi"
    "1Gi"
"1Gi"
    "1Gi"
"1.5Gi"
    "1536Mi"
"1025Ki"
    "1025Ki"
"512Mi"
    "512Mi"
"1000Mi"
    "1000Mi"
"0.5Ki"
    "512"
"2048"
    "2048"
"1e3"
    "1e3"
"1E3"
    "1E3"
"100e1"
    "1e3"
"12e6"
    "12e6"
"1.500"
    "1.500"
"1.250"
    "1.250"
"007Gi"
    "007Gi"
"+5Gi"
    "+5Gi"
"-5"
    "-5"
"-1500m"
    "-1500m"
"1n"
    "1n"
"0.1n"
    "1n"
"0.0000000001"
    "1n"
"8Ei"
    "9223372036854775807"
"9223372036854775807"
    "9223372036854775807"
"9223372036854775808"
    "9223372036854775808"
"1000E"
    "1"
"1000k"
    "1M"
"1000000"
    "1M"
"1e21"
    "1e21"
"1e-9"
    "1e-9"
"1e-10"
    "1e-9"
"0.0001Ki"
    "102400u"
"1.0001Ki"
    "1024102400u"
".5"
    "500m"
"5."
    "5."
"."
    "0"
"+"
    "0"
"Ki"
    "0"
"Ei"
    !unable to parse numeric part of quantity
"m"
    "0"
""
    !quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'
"x"
    !quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'
"1x"
    !quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'
"1.2.3"
    !quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'
"1-5"
    !unable to parse quantity's suffix
"1e"
    !unable to parse quantity's suffix
"1e5e5"
    !quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'
"1Ee5"
    !unable to parse quantity's suffix
"1 "
    "1"
"0Ki"
    "0"
"00"
    "0"
"0.0"
    "0"
"1u"
    "1u"
"999u"
    "999u"
"1000u"
    "1m"
"3.14159"
    "3141590u"
"123456789012345678901234567890"
    "123456789012345678901234567890"
"1.Gi"
    "1.Gi"
"100Ti"
    "100Ti"
"1Pi"
    "1Pi"
"10M"
    "10M"
"1e+3"
    "1e+3"
"-0"
    "0"
"-0.1n"
    "-1n"
"""
"""As `Quantity` is read and written."""

TIMES = r"""
"2026-01-02T03:04:05Z"
    "2026-01-02T03:04:05Z"
"2026-01-02T03:04:05+02:00"
    "2026-01-02T01:04:05Z"
"2026-01-02T03:04:05.999999Z"
    "2026-01-02T03:04:05Z"
"2026-01-02T03:04:05,5Z"
    "2026-01-02T03:04:05Z"
"2026-01-02T5:04:05Z"
    "2026-01-02T05:04:05Z"
"2024-02-29T23:59:59-05:30"
    "2024-03-01T05:29:59Z"
"2026-02-29T00:00:00Z"
    !parsing time "2026-02-29T00:00:00Z": day out of range
"0001-01-01T00:00:00Z"
    null
"0000-01-01T00:00:00Z"
    "0000-01-01T00:00:00Z"
"1970-01-01T00:00:00Z"
    "1970-01-01T00:00:00Z"
"9999-12-31T23:59:59-01:00"
    "10000-01-01T00:59:59Z"
"2026-13-01T00:00:00Z"
    !parsing time "2026-13-01T00:00:00Z": month out of range
"2026-00-01T00:00:00Z"
    !parsing time "2026-00-01T00:00:00Z": month out of range
"2026-01-32T00:00:00Z"
    !parsing time "2026-01-32T00:00:00Z": day out of range
"2026-01-01T24:00:00Z"
    !parsing time "2026-01-01T24:00:00Z": hour out of range
"2026-01-01T00:60:00Z"
    !parsing time "2026-01-01T00:60:00Z": minute out of range
"2026-01-01T00:00:60Z"
    !parsing time "2026-01-01T00:00:60Z": second out of range
"2026-01-01T00:00:00+25:00"
    !parsing time "2026-01-01T00:00:00+25:00": time zone offset hour out of range
"2026-01-01T00:00:00+01:61"
    !parsing time "2026-01-01T00:00:00+01:61": time zone offset minute out of range
"2026-01-01T00:00:00+24:00"
    "2025-12-31T00:00:00Z"
"2026-01-01T00:00:00"
    !parsing time "2026-01-01T00:00:00" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "Z07:00"
"2026-01-01"
    !parsing time "2026-01-01" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "T"
"2026-01-01 00:00:00Z"
    !parsing time "2026-01-01 00:00:00Z" as "2006-01-02T15:04:05Z07:00": cannot parse " 00:00:00Z" as "T"
"2026-01-01t00:00:00z"
    !parsing time "2026-01-01t00:00:00z" as "2006-01-02T15:04:05Z07:00": cannot parse "t00:00:00z" as "T"
"x"
    !parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006"
""
    !parsing time "" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "2006"
"2026-01-01T00:00:00Zx"
    !parsing time "2026-01-01T00:00:00Zx": extra text: "x"
"2026-01-01T00:00:00+0100"
    !parsing time "2026-01-01T00:00:00+0100" as "2006-01-02T15:04:05Z07:00": cannot parse "+0100" as "Z07:00"
"20x6-01-01T00:00:00Z"
    !parsing time "20x6-01-01T00:00:00Z" as "2006-01-02T15:04:05Z07:00": cannot parse "20x6-01-01T00:00:00Z" as "2006"
"2026/01/01T00:00:00Z"
    !parsing time "2026/01/01T00:00:00Z" as "2006-01-02T15:04:05Z07:00": cannot parse "/01/01T00:00:00Z" as "-"
"2026-01-01T00:00:00Z\u00e9\""
    !parsing time "2026-01-01T00:00:00Z\xc3\xa9\"": extra text: "\xc3\xa9\""
"2026-01-01T00:00:00.123456Z"
    "2026-01-01T00:00:00Z"
"2026-01-01T00:00:00.123456+02:00"
    "2025-12-31T22:00:00Z"
"2026-01-01T00:00:00.1234567Z"
    "2026-01-01T00:00:00Z"
"2026-01-01T00:00:00.12345Z"
    "2026-01-01T00:00:00Z"
"""
"""As `Time` is read and written."""

MICRO_TIMES = r"""
"2026-01-02T03:04:05Z"
    !parsing time "2026-01-02T03:04:05Z" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "Z" as ".000000"
"2026-01-02T03:04:05+02:00"
    !parsing time "2026-01-02T03:04:05+02:00" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "+02:00" as ".000000"
"2026-01-02T03:04:05.999999Z"
    "2026-01-02T03:04:05.999999Z"
"2026-01-02T03:04:05,5Z"
    !parsing time "2026-01-02T03:04:05,5Z" as "2006-01-02T15:04:05.000000Z07:00": cannot parse ",5Z" as ".000000"
"2026-01-02T5:04:05Z"
    !parsing time "2026-01-02T5:04:05Z" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "Z" as ".000000"
"2024-02-29T23:59:59-05:30"
    !parsing time "2024-02-29T23:59:59-05:30" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "-05:30" as ".000000"
"2026-02-29T00:00:00Z"
    !parsing time "2026-02-29T00:00:00Z" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "Z" as ".000000"
"0001-01-01T00:00:00Z"
    !parsing time "0001-01-01T00:00:00Z" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "Z" as ".000000"
"0000-01-01T00:00:00Z"
    !parsing time "0000-01-01T00:00:00Z" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "Z" as ".000000"
"1970-01-01T00:00:00Z"
    !parsing time "1970-01-01T00:00:00Z" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "Z" as ".000000"
"9999-12-31T23:59:59-01:00"
    !parsing time "9999-12-31T23:59:59-01:00" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "-01:00" as ".000000"
"2026-13-01T00:00:00Z"
    !parsing time "2026-13-01T00:00:00Z": month out of range
"2026-00-01T00:00:00Z"
    !parsing time "2026-00-01T00:00:00Z": month out of range
"2026-01-32T00:00:00Z"
    !parsing time "2026-01-32T00:00:00Z" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "Z" as ".000000"
"2026-01-01T24:00:00Z"
    !parsing time "2026-01-01T24:00:00Z": hour out of range
"2026-01-01T00:60:00Z"
    !parsing time "2026-01-01T00:60:00Z": minute out of range
"2026-01-01T00:00:60Z"
    !parsing time "2026-01-01T00:00:60Z": second out of range
"2026-01-01T00:00:00+25:00"
    !parsing time "2026-01-01T00:00:00+25:00" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "+25:00" as ".000000"
"2026-01-01T00:00:00+01:61"
    !parsing time "2026-01-01T00:00:00+01:61" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "+01:61" as ".000000"
"2026-01-01T00:00:00+24:00"
    !parsing time "2026-01-01T00:00:00+24:00" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "+24:00" as ".000000"
"2026-01-01T00:00:00"
    !parsing time "2026-01-01T00:00:00" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "" as ".000000"
"2026-01-01"
    !parsing time "2026-01-01" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "" as "T"
"2026-01-01 00:00:00Z"
    !parsing time "2026-01-01 00:00:00Z" as "2006-01-02T15:04:05.000000Z07:00": cannot parse " 00:00:00Z" as "T"
"2026-01-01t00:00:00z"
    !parsing time "2026-01-01t00:00:00z" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "t00:00:00z" as "T"
"x"
    !parsing time "x" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "x" as "2006"
""
    !parsing time "" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "" as "2006"
"2026-01-01T00:00:00Zx"
    !parsing time "2026-01-01T00:00:00Zx" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "Zx" as ".000000"
"2026-01-01T00:00:00+0100"
    !parsing time "2026-01-01T00:00:00+0100" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "+0100" as ".000000"
"20x6-01-01T00:00:00Z"
    !parsing time "20x6-01-01T00:00:00Z" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "20x6-01-01T00:00:00Z" as "2006"
"2026/01/01T00:00:00Z"
    !parsing time "2026/01/01T00:00:00Z" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "/01/01T00:00:00Z" as "-"
"2026-01-01T00:00:00Z\u00e9\""
    !parsing time "2026-01-01T00:00:00Z\xc3\xa9\"" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "Z\xc3\xa9\"" as ".000000"
"2026-01-01T00:00:00.123456Z"
    "2026-01-01T00:00:00.123456Z"
"2026-01-01T00:00:00.123456+02:00"
    "2025-12-31T22:00:00.123456Z"
"2026-01-01T00:00:00.1234567Z"
    !parsing time "2026-01-01T00:00:00.1234567Z" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "7Z" as "Z07:00"
"2026-01-01T00:00:00.12345Z"
    !parsing time "2026-01-01T00:00:00.12345Z" as "2006-01-02T15:04:05.000000Z07:00": cannot parse ".12345Z" as ".000000"
"""
"""As `MicroTime` is."""

MALFORMED = r"""
""
    !unexpected end of JSON input
" "
    !unexpected end of JSON input
"{"
    !unexpected end of JSON input
"}"
    !invalid character '}' looking for beginning of value
"["
    !unexpected end of JSON input
"{\"a\""
    !unexpected end of JSON input
"{\"a\":"
    !unexpected end of JSON input
"{\"a\":1"
    !unexpected end of JSON input
"{\"a\":1,"
    !unexpected end of JSON input
"{\"a\":1,}"
    !invalid character '}' looking for beginning of object key string
"{\"a\" 1}"
    !invalid character '1' after object key
"{a:1}"
    !invalid character 'a' looking for beginning of object key string
"{\"a\":1 \"b\":2}"
    !invalid character '"' after object key:value pair
"[1"
    !unexpected end of JSON input
"[1,"
    !unexpected end of JSON input
"[1,]"
    !invalid character ']' looking for beginning of value
"[1 2]"
    !invalid character '2' after array element
"[,]"
    !invalid character ',' looking for beginning of value
"nul"
    !invalid character ' ' in literal null (expecting 'l')
"nulx"
    !invalid character 'x' in literal null (expecting 'l')
"tru"
    !invalid character ' ' in literal true (expecting 'e')
"trux"
    !invalid character 'x' in literal true (expecting 'e')
"fals"
    !invalid character ' ' in literal false (expecting 'e')
"falsy"
    !invalid character 'y' in literal false (expecting 'e')
"t"
    !invalid character ' ' in literal true (expecting 'r')
"\"abc"
    !unexpected end of JSON input
"\"a\\"
    !invalid character ' ' in string escape code
"\"a\\x\""
    !invalid character 'x' in string escape code
"\"a\\u12\""
    !invalid character '"' in \u hexadecimal character escape
"\"a\\u12g4\""
    !invalid character 'g' in \u hexadecimal character escape
"\"a\tb\""
    !invalid character '\t' in string literal
"-"
    !invalid character ' ' in numeric literal
"-x"
    !invalid character 'x' in numeric literal
"01"
    !invalid character '1' after top-level value
"1."
    !invalid character ' ' after decimal point in numeric literal
"1.x"
    !invalid character 'x' after decimal point in numeric literal
"1e"
    !invalid character ' ' in exponent of numeric literal
"1e+"
    !invalid character ' ' in exponent of numeric literal
"1ex"
    !invalid character 'x' in exponent of numeric literal
"1 2"
    !invalid character '2' after top-level value
"{} x"
    !invalid character 'x' after top-level value
"[] ]"
    !invalid character ']' after top-level value
"'a'"
    !invalid character '\'' looking for beginning of value
"\u00e9"
    !invalid character 'Ã' looking for beginning of value
"{\"a\":\u00e9}"
    !invalid character 'Ã' looking for beginning of value
"\""
    !unexpected end of JSON input
"{\"a\":\"b}"
    !unexpected end of JSON input
"+1"
    !invalid character '+' looking for beginning of value
".5"
    !invalid character '.' looking for beginning of value
"NaN"
    !invalid character 'N' looking for beginning of value
"Infinity"
    !invalid character 'I' looking for beginning of value
"{\"a\":1}}"
    !invalid character '}' after top-level value
"//"
    !invalid character '/' looking for beginning of value
"{\"a\"::1}"
    !invalid character ':' looking for beginning of value
"[[[["
    !unexpected end of JSON input
"{\"a\":[}"
    !invalid character '}' looking for beginning of value
"\u0001"
    !invalid character '\x01' looking for beginning of value
"@"
    !invalid character '@' looking for beginning of value
"""
"""Texts that are no JSON."""

DECODED = r"""
{"kind":"Pod","apiVersion":"v1","spec":{"containers":"x"}}
    !json: cannot unmarshal string into Go struct field PodSpec.spec.containers of type []v1.Container
{"kind":"Pod","apiVersion":"v1","spec":{"containers":[{"name":3}]}}
    !json: cannot unmarshal number into Go struct field Container.spec.containers.name of type string
{"kind":"Pod","apiVersion":"v1","metadata":{"labels":{"a":3}}}
    !json: cannot unmarshal number into Go struct field ObjectMeta.metadata.labels of type string
{"kind":"Pod","apiVersion":"v1","metadata":{"creationTimestamp":3}}
    !json: cannot unmarshal number into Go struct field ObjectMeta.metadata.creationTimestamp of type string
{"kind":"Pod","apiVersion":"v1","spec":{"priority":1.0}}
    !json: cannot unmarshal number 1.0 into Go struct field PodSpec.spec.priority of type int32
{"kind":"Pod","apiVersion":"v1","spec":{"priority":1e3}}
    !json: cannot unmarshal number 1e3 into Go struct field PodSpec.spec.priority of type int32
{"kind":"Pod","apiVersion":"v1","spec":{"priority":99999999999}}
    !json: cannot unmarshal number 99999999999 into Go struct field PodSpec.spec.priority of type int32
{"kind":"Pod","apiVersion":"v1","spec":{"volumes":[{"hostPath":3}]}}
    !json: cannot unmarshal number into Go struct field Volume.spec.volumes.VolumeSource.hostPath of type v1.HostPathVolumeSource
{"kind":"Pod","apiVersion":"v1","spec":{"containers":[{"livenessProbe":{"httpGet":{"port":true}}}]}}
    !json: cannot unmarshal bool into Go struct field HTTPGetAction.spec.containers.livenessProbe.ProbeHandler.httpGet.port of type int32
{"kind":"Pod","apiVersion":"v1","spec":{"containers":[{"livenessProbe":{"httpGet":{"port":1.5}}}]}}
    !json: cannot unmarshal number 1.5 into Go struct field HTTPGetAction.spec.containers.livenessProbe.ProbeHandler.httpGet.port of type int32
{"kind":"Pod","apiVersion":"v1","spec":{"priority":"x"},"metadata":{"creationTimestamp":"x"}}
    !parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006"
{"kind":"Pod","apiVersion":"v1","metadata":{"creationTimestamp":"x"},"spec":{"priority":"x"}}
    !parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006"
{"kind":"Pod","apiVersion":"v1","spec":{"priority":"x","hostname":3}}
    !json: cannot unmarshal string into Go struct field PodSpec.spec.priority of type int32
{"kind":"Pod","apiVersion":"v1","foo":1,"spec":{"priority":"x"}}
    !json: cannot unmarshal string into Go struct field PodSpec.spec.priority of type int32
{"kind":"Pod","apiVersion":"v1","foo":{"a":1,"a":2},"Spec":{},"spec":{"containers":[{"foo":1,"name":"a","name":"b"}],"nodeSelector":{"a":"1","a":"2"}},"foo":1}
    {"strict":["unknown field \"foo\"","unknown field \"Spec\"","unknown field \"spec.containers[0].foo\"","duplicate field \"spec.containers[0].name\"","duplicate field \"spec.nodeSelector.a\""],"value":{"kind":"Pod","apiVersion":"v1","metadata":{},"spec":{"containers":[{"name":"b","resources":{}}],"nodeSelector":{"a":"2"}},"status":{}}}
{"kind":"Pod","apiVersion":"v1","spec":{"containers":[{"name":"a","image":"x"}],"containers":[{"name":"b"}]}}
    {"strict":["duplicate field \"spec.containers\""],"value":{"kind":"Pod","apiVersion":"v1","metadata":{},"spec":{"containers":[{"name":"b","image":"x","resources":{}}]},"status":{}}}
{"kind":"Pod","apiVersion":"v1","spec":null,"metadata":{"labels":null,"name":null,"finalizers":[null]}}
    {"kind":"Pod","apiVersion":"v1","metadata":{"finalizers":[""]},"spec":{"containers":null},"status":{}}
{"kind":"Pod","apiVersion":"v1","spec":{"containers":[null],"nodeSelector":{"a":null},"volumes":[{"name":"v","projected":{"sources":[]}}]}}
    {"kind":"Pod","apiVersion":"v1","metadata":{},"spec":{"volumes":[{"name":"v","projected":{"sources":null}}],"containers":[{"name":"","resources":{}}],"nodeSelector":{"a":""}},"status":{}}
{"kind":"Pod","apiVersion":"v1","spec":{"containers":[{"resources":{"limits":{"cpu":"1000m","memory":"1024Mi","x":1.50,"y":null}}}]}}
    {"kind":"Pod","apiVersion":"v1","metadata":{},"spec":{"containers":[{"name":"","resources":{"limits":{"cpu":"1","memory":"1Gi","x":"1500m","y":"0"}}}]},"status":{}}
{"kind":"Pod","apiVersion":"v1","metadata":{"annotations":{"a":"\ud800x","\u00e9":"<&>"}}}
    {"kind":"Pod","apiVersion":"v1","metadata":{"annotations":{"a":"\ufffdx","\u00e9":"<&>"}},"spec":{"containers":null},"status":{}}
{"apiVersion":"v1","kind":"ConfigMap","data":{},"metadata":{"uid":"b","creationTimestamp":"2026-01-02T03:04:05+02:00","namespace":"TCP","generation":0,"finalizers":["","a"]}}
    {"kind":"ConfigMap","apiVersion":"v1","metadata":{"namespace":"TCP","uid":"b","creationTimestamp":"2026-01-02T01:04:05Z","finalizers":["","a"]}}
{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","status":{"storedVersions":["TCP"],"conditions":[{}],"acceptedNames":{"categories":[],"shortNames":"2020"},"observedGeneration":0},"spec":{"names":{"kind":"TCP"}}}
    !json: cannot unmarshal string into Go struct field CustomResourceDefinitionNames.status.acceptedNames.shortNames of type []string
{"apiVersion":"v1","kind":"Node","metadata":{"labels":{"b":"b","b":"\u00e9<>&"},"resourceVersion":"a","generation":-2147483648},"spec":{"taints":[{"value":"a","key":"","effect":"b"}],"podPreemptionPolicy":{"disableResizePreemption":[]},"providerID":"TCP","externalID":"","podCIDRs":[]},"status":{"daemonEndpoints":{"kubeletEndpoint":{"Port":2147483647}},"features":{"supplementalGroupsPolicy":false,"foo":[]}}}
    {"strict":["duplicate field \"metadata.labels.b\"","unknown field \"status.features.foo\""],"value":{"kind":"Node","apiVersion":"v1","metadata":{"resourceVersion":"a","generation":-2147483648,"labels":{"b":"\u00e9<>&"}},"spec":{"providerID":"TCP","taints":[{"key":"","value":"a","effect":"b"}],"podPreemptionPolicy":{}},"status":{"daemonEndpoints":{"kubeletEndpoint":{"Port":2147483647}},"nodeInfo":{"machineID":"","systemUUID":"","bootID":"","kernelVersion":"","osImage":"","containerRuntimeVersion":"","kubeletVersion":"","kubeProxyVersion":"","operatingSystem":"","architecture":""},"features":{"supplementalGroupsPolicy":false}}}}
{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","spec":99999999999,"metadata":{"uid":"\u00e9<>&","resourceVersion":"a","namespace":"\u00e9<>&"}}
    !json: cannot unmarshal number into Go struct field Lease.spec of type v1.LeaseSpec
{"apiVersion":"v1","kind":"ConfigMap","metadata":{"labels":{"c":"TCP","b":""},"foo":[],"creationTimestamp":"2026-01-02T03:04:05+02:00","deletionTimestamp":"x"}}
    !parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006"
{"apiVersion":"authorization.k8s.io/v1","kind":"SelfSubjectAccessReview","metadata":{},"status":{"reason":[[]],"denied":true},"spec":{"resourceAttributes":{},"nonResourceAttributes":{"verb":"","path":"\u00e9<>&","verb":""}}}
    !json: cannot unmarshal array into Go struct field SubjectAccessReviewStatus.status.reason of type string
{"apiVersion":"scheduling.k8s.io/v1beta1","kind":"PodGroup","metadata":{},"spec":{"schedulingConstraints":{"topology":[{"key":"a"},{"key":"\u00e9<>&"}]},"schedulingPolicy":{"gang":{"minCount":-2147483648},"basic":{}}},"status":{"resourceClaimStatuses":[{"name":"b","resourceClaimName":"TCP","resourceClaimName":"\u00e9<>&"},{"resourceClaimName":"","name":""}],"conditions":[{"observedGeneration":0,"reason":"a","message":"a","type":"a","lastTransitionTime":"2026-01-02T03:04:05Z"}]}}
    {"strict":["duplicate field \"status.resourceClaimStatuses[0].resourceClaimName\""],"value":{"kind":"PodGroup","apiVersion":"scheduling.k8s.io/v1beta1","metadata":{},"spec":{"schedulingPolicy":{"basic":{},"gang":{"minCount":-2147483648}},"schedulingConstraints":{"topology":[{"key":"a"},{"key":"\u00e9<>&"}]}},"status":{"conditions":[{"type":"a","status":"","lastTransitionTime":"2026-01-02T03:04:05Z","reason":"a","message":"a"}],"resourceClaimStatuses":[{"name":"b","resourceClaimName":"\u00e9<>&"},{"name":"","resourceClaimName":""}]}}}
{"apiVersion":"batch/v1","kind":"Job","metadata":[null],"status":{"ready":2147483648,"failedIndexes":"\u00e9<>&","succeeded":-5,"completedIndexes":"b","uncountedTerminatedPods":{"succeeded":["\u00e9<>&",""],"failed":["\u00e9<>&"]}}}
    !json: cannot unmarshal array into Go struct field Job.metadata of type v1.ObjectMeta
{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"annotations":{},"deletionTimestamp":"2026-01-02T03:04:05.5Z","selfLink":"\u00e9<>&","namespace":"","deletionGracePeriodSeconds":-5},"spec":{"strategy":"","acquireTime":"2026-01-02T03:04:05.123456+02:00","leaseDurationSeconds":2147483648,"renewTime":"2026-01-02T03:04:05.000001Z","holderIdentity":"\u00e9<>&"}}
    !json: cannot unmarshal number 2147483648 into Go struct field LeaseSpec.spec.leaseDurationSeconds of type int32
{"apiVersion":"authorization.k8s.io/v1","kind":"SelfSubjectAccessReview","spec":{"resourceAttributes":{"name":"a","fieldSelector":{"requirements":[{}],"rawSelector":"\u00e9<>&"},"labelSelector":{"rawSelector":0,"requirements":[{"operator":"TCP","key":"b"}]}},"nonResourceAttributes":{"path":"","verb":"b"}}}
    !json: cannot unmarshal number into Go struct field LabelSelectorAttributes.spec.resourceAttributes.labelSelector.rawSelector of type string
{"apiVersion":"scheduling.k8s.io/v1beta1","kind":"PodGroup","status":{},"spec":{},"metadata":{"finalizers":[],"uid":"b","name":"b","ownerReferences":[{"blockOwnerDeletion":false,"kind":"TCP","uid":"a"}],"generateName":"\u00e9<>&"}}
    {"kind":"PodGroup","apiVersion":"scheduling.k8s.io/v1beta1","metadata":{"name":"b","generateName":"\u00e9<>&","uid":"b","ownerReferences":[{"apiVersion":"","kind":"TCP","name":"","uid":"a","blockOwnerDeletion":false}]},"spec":{"schedulingPolicy":{}},"status":{}}
{"apiVersion":"v1","kind":"Node","status":{"images":[null],"allocatable":{},"conditions":[{"reason":"b"}]},"spec":"x","metadata":{"deletionGracePeriodSeconds":1}}
    !json: cannot unmarshal string into Go struct field Node.spec of type v1.NodeSpec
{"apiVersion":"batch/v1","kind":"Job","status":{"ready":-5,"terminating":-2147483648,"failed":-2147483648},"spec":{"backoffLimit":0,"manualSelector":false},"metadata":{}}
    {"kind":"Job","apiVersion":"batch/v1","metadata":{},"spec":{"backoffLimit":0,"manualSelector":false,"template":{"metadata":{},"spec":{"containers":null}}},"status":{"failed":-2147483648,"terminating":-2147483648,"ready":-5}}
{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","status":9223372036854775808,"spec":{"scope":"a","group":"","versions":[]}}
    !json: cannot unmarshal number into Go struct field CustomResourceDefinition.status of type v1.CustomResourceDefinitionStatus
{"apiVersion":"scheduling.k8s.io/v1beta1","kind":"Workload","spec":{"podGroupTemplates":[{"name":"b","schedulingPolicy":{},"priority":-5,"schedulingConstraints":{"topology":[{"key":"b"}]},"resourceClaims":[{"resourceClaimTemplateName":"TCP","name":"\u00e9<>&","resourceClaimName":""}]}],"compositePodGroupTemplates":[{"compositePodGroupTemplates":[],"priority":2147483647,"preemptionPolicy":"b","schedulingConstraints":{"topology":[]},"disruptionMode":{"all":{},"single":{}}}],"controllerRef":{}},"metadata":{}}
    {"kind":"Workload","apiVersion":"scheduling.k8s.io/v1beta1","metadata":{},"spec":{"controllerRef":{"kind":"","name":""},"podGroupTemplates":[{"name":"b","schedulingPolicy":{},"schedulingConstraints":{"topology":[{"key":"b"}]},"resourceClaims":[{"name":"\u00e9<>&","resourceClaimName":"","resourceClaimTemplateName":"TCP"}],"priority":-5}],"compositePodGroupTemplates":[{"name":"","schedulingPolicy":{},"schedulingConstraints":{},"disruptionMode":{"single":{},"all":{}},"priority":2147483647,"preemptionPolicy":"b"}]}}
{"apiVersion":"v1","kind":"Event","reportingComponent":"a","type":"TCP","count":0,"metadata":{"ownerReferences":{"a":null},"generation":0,"managedFields":[],"namespace":"b","generateName":""}}
    !json: cannot unmarshal object into Go struct field ObjectMeta.metadata.ownerReferences of type []v1.OwnerReference
{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"resourceVersion":""},"spec":{"scope":"\u00e9<>&","preserveUnknownFields":false,"versions":[{"subresources":{"scale":{"statusReplicasPath":"\u00e9<>&","labelSelectorPath":"a","specReplicasPath":"b"},"status":{}},"deprecationWarning":"TCP"}],"conversion":{"foo":"x","webhook":{"clientConfig":{"service":[null],"caBundle":"x","\u00e9":1.5},"conversionReviewVersions":[]},"strategy":"b"},"names":[1]}}
    !json: cannot unmarshal array into Go struct field WebhookClientConfig.spec.conversion.webhook.clientConfig.service of type v1.ServiceReference
{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{},"status":{},"spec":{"group":"\u00e9<>&","names":{"kind":"TCP","shortNames":[]},"versions":[{}]}}
    {"kind":"CustomResourceDefinition","apiVersion":"apiextensions.k8s.io/v1","metadata":{},"spec":{"group":"\u00e9<>&","names":{"plural":"","kind":"TCP"},"scope":"","versions":[{"name":"","served":false,"storage":false}]},"status":{"conditions":null,"acceptedNames":{"plural":"","kind":""},"storedVersions":null}}
{"apiVersion":"policy/v1","kind":"PodDisruptionBudget","spec":{"maxUnavailable":""},"metadata":{"ownerReferences":[{"kind":"b","controller":true,"name":"TCP","uid":"","apiVersion":"a"}]},"status":{"observedGeneration":2147483647,"disruptionsAllowed":-5}}
    {"kind":"PodDisruptionBudget","apiVersion":"policy/v1","metadata":{"ownerReferences":[{"apiVersion":"a","kind":"b","name":"TCP","uid":"","controller":true}]},"spec":{"maxUnavailable":""},"status":{"observedGeneration":2147483647,"disruptionsAllowed":-5,"currentHealthy":0,"desiredHealthy":0,"expectedPods":0}}
{"apiVersion":"v1","kind":"Service","metadata":{"generateName":"b"},"spec":{"ipFamilyPolicy":"a","loadBalancerSourceRanges":["a"],"\u00e9":"x","externalTrafficPolicy":"a","loadBalancerIP":"\u00e9<>&","loadBalancerClass":"TCP"}}
    {"strict":["unknown field \"spec.\u00e9\""],"value":{"kind":"Service","apiVersion":"v1","metadata":{"generateName":"b"},"spec":{"loadBalancerIP":"\u00e9<>&","loadBalancerSourceRanges":["a"],"externalTrafficPolicy":"a","ipFamilyPolicy":"a","loadBalancerClass":"TCP"},"status":{"loadBalancer":{}}}}
{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"uid":"","creationTimestamp":"2026-01-02T03:04:05.5Z","deletionTimestamp":"1970-01-01T00:00:00Z"}}
    {"kind":"Lease","apiVersion":"coordination.k8s.io/v1","metadata":{"creationTimestamp":"2026-01-02T03:04:05Z","deletionTimestamp":"1970-01-01T00:00:00Z"},"spec":{}}
{"apiVersion":"scheduling.k8s.io/v1beta1","kind":"PodGroup","status":{"\u00e9":9223372036854775808,"conditions":{"a":null}}}
    !json: cannot unmarshal object into Go struct field PodGroupStatus.status.conditions of type []v1.Condition
{"apiVersion":"v1","kind":"Pod","spec":{"terminationGracePeriodSeconds":-5,"dnsConfig":{"nameservers":[""],"options":[],"searches":["b","\u00e9<>&"]},"preemptionPolicy":"a"}}
    {"kind":"Pod","apiVersion":"v1","metadata":{},"spec":{"containers":null,"terminationGracePeriodSeconds":-5,"dnsConfig":{"nameservers":[""],"searches":["b","\u00e9<>&"]},"preemptionPolicy":"a"},"status":{}}
{"apiVersion":"policy/v1","kind":"PodDisruptionBudget","status":{"desiredHealthy":2147483647,"observedGeneration":-5,"disruptionsAllowed":-5,"currentHealthy":{"a":1},"expectedPods":1}}
    !json: cannot unmarshal object into Go struct field PodDisruptionBudgetStatus.status.currentHealthy of type int32
{"apiVersion":"policy/v1","kind":"PodDisruptionBudget","status":{"expectedPods":-2147483648,"observedGeneration":-2147483648,"disruptedPods":{"b":"1970-01-01T00:00:00Z"},"disruptionsAllowed":2147483647,"conditions":[{"status":"a","type":[],"message":"a","observedGeneration":2147483647,"lastTransitionTime":"2026-01-02T03:04:05Z"}]},"spec":true}
    !json: cannot unmarshal array into Go struct field Condition.status.conditions.type of type string
{"apiVersion":"policy/v1","kind":"PodDisruptionBudget","status":{"desiredHealthy":-2147483648,"observedGeneration":-5,"expectedPods":2147483647},"spec":{"unhealthyPodEvictionPolicy":"a"},"metadata":9223372036854775808}
    !json: cannot unmarshal number into Go struct field PodDisruptionBudget.metadata of type v1.ObjectMeta
{"apiVersion":"events.k8s.io/v1","kind":"Event","metadata":{"selfLink":"","managedFields":[1.5]},"eventTime":"","deprecatedCount":1}
    !parsing time "" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "" as "2006"
{"apiVersion":"events.k8s.io/v1","kind":"Event","series":{"count":0,"lastObservedTime":"2026-01-02T03:04:05.123456+02:00"},"reason":""}
    {"kind":"Event","apiVersion":"events.k8s.io/v1","metadata":{},"eventTime":null,"series":{"count":0,"lastObservedTime":"2026-01-02T01:04:05.123456Z"},"regarding":{},"deprecatedSource":{},"deprecatedFirstTimestamp":null,"deprecatedLastTimestamp":null}
{"apiVersion":"v1","kind":"Event","series":{"lastObservedTime":"2026-01-02T03:04:05.000001Z","count":1},"source":{"component":"TCP","host":""},"firstTimestamp":"2026-01-02T03:04:05Z","reportingInstance":"b","action":"TCP","reportingInstance":"\u00e9<>&"}
    {"strict":["duplicate field \"reportingInstance\""],"value":{"kind":"Event","apiVersion":"v1","metadata":{},"involvedObject":{},"source":{"component":"TCP"},"firstTimestamp":"2026-01-02T03:04:05Z","lastTimestamp":null,"eventTime":null,"series":{"count":1,"lastObservedTime":"2026-01-02T03:04:05.000001Z"},"action":"TCP","reportingComponent":"","reportingInstance":"\u00e9<>&"}}
{"apiVersion":"scheduling.k8s.io/v1beta1","kind":"PodGroup","a\"b":"","status":{"conditions":[-7],"resourceClaimStatuses":[{}]},"spec":{"priority":0,"a\"b":"\u00e9<","priority":1},"metadata":{}}
    !json: cannot unmarshal number into Go struct field PodGroupStatus.status.conditions of type v1.Condition
{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":"\u00e9<","spec":{"scope":"b","names":{"kind":"TCP","listKind":"TCP"},"conversion":{},"group":"b","versions":[]}}
    !json: cannot unmarshal string into Go struct field CustomResourceDefinition.metadata of type v1.ObjectMeta
{"apiVersion":"authorization.k8s.io/v1","kind":"SelfSubjectAccessReview","spec":{"nonResourceAttributes":{},"resourceAttributes":{"subresource":"a","version":"","resource":"b"},"Spec":"\ud800x"},"status":{"allowed":false,"denied":false,"reason":"a","evaluationError":"\u00e9<>&"},"metadata":{}}
    {"strict":["unknown field \"spec.Spec\""],"value":{"kind":"SelfSubjectAccessReview","apiVersion":"authorization.k8s.io/v1","metadata":{},"spec":{"resourceAttributes":{"resource":"b","subresource":"a"},"nonResourceAttributes":{}},"status":{"allowed":false,"reason":"a","evaluationError":"\u00e9<>&"}}}
{"apiVersion":"v1","kind":"Secret","metadata":{"deletionGracePeriodSeconds":2147483648,"uid":{"a":1}},"stringData":{"b":"a"}}
    !json: cannot unmarshal object into Go struct field ObjectMeta.metadata.uid of type types.UID
{"apiVersion":"v1","kind":"ConfigMap","immutable":true,"metadata":{"name":"b","generation":-2147483648},"data":{"c":"a","a":""}}
    {"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"b","generation":-2147483648},"immutable":true,"data":{"a":"","c":"a"}}
{"apiVersion":"v1","kind":"Pod","spec":{"topologySpreadConstraints":[{"topologyKey":"","minDomains":1}],"schedulingGroup":[null],"priorityClassName":"b","hostUsers":true,"restartPolicy":"b"},"status":{"podIP":"","containerStatuses":[{"imageID":"TCP","containerID":"b"},{"stopSignal":"a"}]}}
    !json: cannot unmarshal array into Go struct field PodSpec.spec.schedulingGroup of type v1.PodSchedulingGroup
{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"b","annotations":{},"resourceVersion":"TCP"},"spec":{"scope":"b","names":{"plural":"a","kind":"b","listKind":1e3},"group":"a","conversion":{"strategy":"TCP","webhook":{"clientConfig":{"caBundle":"x","service":{},"url":"\u00e9<>&"},"conversionReviewVersions":[""]}},"versions":[{}]}}
    !json: cannot unmarshal number into Go struct field CustomResourceDefinitionNames.spec.names.listKind of type string
{"apiVersion":"scheduling.k8s.io/v1beta1","kind":"Workload","spec":{"controllerRef":{"kind":"\u00e9<>&","apiGroup":"TCP"},"compositePodGroupTemplates":[{}],"podGroupTemplates":[{"schedulingConstraints":{"topology":[{}]},"preemptionPolicy":"b","schedulingPolicy":{"basic":{},"gang":{"minCount":-5}},"name":"TCP","priority":0},{"schedulingConstraints":{"topology":[]},"resourceClaims":[1],"disruptionMode":{"all":{},"single":{},"foo":{"a":null}}}]}}
    !json: cannot unmarshal number into Go struct field PodGroupTemplate.spec.podGroupTemplates.resourceClaims of type v1beta1.PodGroupResourceClaim
{"apiVersion":"v1","kind":"Event","reportingInstance":"b","firstTimestamp":"x","series":[[]],"metadata":{"selfLink":"b"}}
    !parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006"
{"apiVersion":"scheduling.k8s.io/v1beta1","kind":"PodGroup","metadata":{"ownerReferences":[{"kind":"\u00e9<>&","apiVersion":"a","controller":true}],"annotations":{},"namespace":"a","resourceVersion":"\u00e9<>&","creationTimestamp":"1970-01-01T00:00:00Z","ownerReferences":[{"kind":""},{"uid":"b","blockOwnerDeletion":true,"uid":"\u00e9<>&"}]}}
    {"strict":["duplicate field \"metadata.ownerReferences\"","duplicate field \"metadata.ownerReferences[1].uid\""],"value":{"kind":"PodGroup","apiVersion":"scheduling.k8s.io/v1beta1","metadata":{"namespace":"a","resourceVersion":"\u00e9<>&","creationTimestamp":"1970-01-01T00:00:00Z","ownerReferences":[{"apiVersion":"a","kind":"","name":"","uid":"","controller":true},{"apiVersion":"","kind":"","name":"","uid":"\u00e9<>&","blockOwnerDeletion":true}]},"spec":{"schedulingPolicy":{}},"status":{}}}
{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","status":{"conditions":[],"observedGeneration":2147483647,"storedVersions":{"a":1},"acceptedNames":{"kind":"\u00e9<>&","shortNames":["\u00e9<>&"],"listKind":""}},"metadata":{"selfLink":"\u00e9<>&"},"spec":[null]}
    !json: cannot unmarshal object into Go struct field CustomResourceDefinitionStatus.status.storedVersions of type []string
{"apiVersion":"scheduling.k8s.io/v1beta1","kind":"PodGroup","metadata":{"creationTimestamp":"2026-01-02T03:04:05+02:00","labels":{"b":"TCP","b":[]},"selfLink":""}}
    !json: cannot unmarshal array into Go struct field ObjectMeta.metadata.labels of type string
{"apiVersion":"events.k8s.io/v1","kind":"Event","reportingInstance":"TCP","metadata":{"Spec":true,"generateName":"TCP","ownerReferences":[{"blockOwnerDeletion":false,"uid":"TCP"}]}}
    {"strict":["unknown field \"metadata.Spec\""],"value":{"kind":"Event","apiVersion":"events.k8s.io/v1","metadata":{"generateName":"TCP","ownerReferences":[{"apiVersion":"","kind":"","name":"","uid":"TCP","blockOwnerDeletion":false}]},"eventTime":null,"reportingInstance":"TCP","regarding":{},"deprecatedSource":{},"deprecatedFirstTimestamp":null,"deprecatedLastTimestamp":null}}
{"apiVersion":"v1","kind":"ConfigMap","binaryData":{"d":"YQ"},"metadata":{"uid":"\u00e9<>&","a\"b":""},"data":{"a":"\u00e9<>&","b":"\u00e9<>&"},"immutable":false}
    !illegal base64 data at input byte 0
{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"namespace":"","generateName":"a"},"status":{}}
    {"kind":"CustomResourceDefinition","apiVersion":"apiextensions.k8s.io/v1","metadata":{"generateName":"a"},"spec":{"group":"","names":{"plural":"","kind":""},"scope":"","versions":null},"status":{"conditions":null,"acceptedNames":{"plural":"","kind":""},"storedVersions":null}}
{"apiVersion":"v1","kind":"Pod","spec":{"containers":[{"args":["a"],"volumeMounts":[{},{"subPath":"a","recursiveReadOnly":"b","mountPropagation":"a"}],"ports":[],"securityContext":{"runAsGroup":2147483648},"workingDir":"b"},{}],"shareProcessNamespace":false},"metadata":{"namespace":"","generateName":{},"name":"b"},"spec":{"preemptionPolicy":"\u00e9<>&","hostnameOverride":"","runtimeClassName":"x","tolerations":"","readinessGates":1e3}}
    !json: cannot unmarshal object into Go struct field ObjectMeta.metadata.generateName of type string
{"apiVersion":"events.k8s.io/v1","kind":"Event","note":"TCP","reason":"a","deprecatedFirstTimestamp":"1970-01-01T00:00:00Z"}
    {"kind":"Event","apiVersion":"events.k8s.io/v1","metadata":{},"eventTime":null,"reason":"a","regarding":{},"note":"TCP","deprecatedSource":{},"deprecatedFirstTimestamp":"1970-01-01T00:00:00Z","deprecatedLastTimestamp":null}
{"apiVersion":"v1","kind":"Node","status":{"features":{"supplementalGroupsPolicy":true},"capacity":{},"declaredFeatures":["\u00e9<>&"]},"metadata":{"namespace":"","resourceVersion":"TCP","name":"TCP","creationTimestamp":"1970-01-01T00:00:00Z","labels":{}},"spec":{"Spec":[[]],"podCIDRs":1.0,"podCIDR":"b","providerID":"\u00e9<>&","unschedulable":true,"podPreemptionPolicy":{"disableResizePreemption":["\u00e9<>&"]}}}
    !json: cannot unmarshal number into Go struct field NodeSpec.spec.podCIDRs of type []string
{"apiVersion":"v1","kind":"Node","status":{"config":{"assigned":{},"\u00e9":true,"lastKnownGood":{"configMap":{"uid":"","namespace":"TCP","kubeletConfigKey":"\u00e9<>&","resourceVersion":"a","name":[]}},"error":"\u00e9<>&"},"runtimeHandlers":[{"a\"b":9223372036854775808},1e3],"addresses":[{},{"address":"a","type":"TCP"}],"\u00e9":-7,"declaredFeatures":[],"allocatable":{},"config":{}},"metadata":{"annotations":{},"selfLink":{"a":null}}}
    !json: cannot unmarshal array into Go struct field ConfigMapNodeConfigSource.status.config.lastKnownGood.configMap.name of type string
{"apiVersion":"v1","kind":"Service","status":{"loadBalancer":{},"conditions":[]},"metadata":{"name":"\u00e9<>&","labels":{"b":"TCP"}},"spec":{"loadBalancerSourceRanges":["TCP","TCP"]}}
    {"kind":"Service","apiVersion":"v1","metadata":{"name":"\u00e9<>&","labels":{"b":"TCP"}},"spec":{"loadBalancerSourceRanges":["TCP","TCP"]},"status":{"loadBalancer":{}}}
{"apiVersion":"scheduling.k8s.io/v1beta1","kind":"PodGroup","\u00e9":[1],"metadata":{"ownerReferences":[],"resourceVersion":""}}
    {"strict":["unknown field \"\u00e9\""],"value":{"kind":"PodGroup","apiVersion":"scheduling.k8s.io/v1beta1","metadata":{},"spec":{"schedulingPolicy":{}},"status":{}}}
{"apiVersion":"v1","kind":"Event","related":{"name":"a","fieldPath":"b","kind":"b","resourceVersion":"","apiVersion":99999999999,"kind":"a"},"type":"\u00e9<>&","firstTimestamp":"2026-01-02T03:04:05+02:00","action":"TCP"}
    !json: cannot unmarshal number into Go struct field ObjectReference.related.apiVersion of type string
{"apiVersion":"scheduling.k8s.io/v1beta1","kind":"Workload","spec":{"podGroupTemplates":[{"priority":0,"preemptionPolicy":"a"}],"controllerRef":{"kind":"\u00e9<>&","apiGroup":"TCP","name":""}},"metadata":{"resourceVersion":"\u00e9<>&","managedFields":[{"fieldsType":"\u00e9<>&","subresource":"","operation":{},"fieldsV1":{},"manager":""}],"labels":{},"namespace":"TCP","ownerReferences":[]}}
    !json: cannot unmarshal object into Go struct field ManagedFieldsEntry.metadata.managedFields.operation of type v1.ManagedFieldsOperationType
{"apiVersion":"authorization.k8s.io/v1","kind":"SelfSubjectAccessReview","status":{"denied":false,"allowed":false,"evaluationError":"\u00e9<>&"},"metadata":{"generation":2147483648,"generateName":"TCP","managedFields":[{"subresource":"b","manager":"a","operation":"\u00e9<>&"}],"labels":{"a":[],"a":"b"},"namespace":"b"},"spec":{"resourceAttributes":{"\u00e9":true,"resource":"","verb":{},"labelSelector":{"rawSelector":"","requirements":[{}]}},"nonResourceAttributes":{"verb":"x","path":"TCP"}}}
    !json: cannot unmarshal array into Go struct field ObjectMeta.metadata.labels of type string
{"apiVersion":"v1","kind":"Node","metadata":{"deletionTimestamp":"2026-01-02T03:04:05Z","a\"b":"","deletionGracePeriodSeconds":-2147483648}}
    {"strict":["unknown field \"metadata.a\\\"b\""],"value":{"kind":"Node","apiVersion":"v1","metadata":{"deletionTimestamp":"2026-01-02T03:04:05Z","deletionGracePeriodSeconds":-2147483648},"spec":{},"status":{"daemonEndpoints":{"kubeletEndpoint":{"Port":0}},"nodeInfo":{"machineID":"","systemUUID":"","bootID":"","kernelVersion":"","osImage":"","containerRuntimeVersion":"","kubeletVersion":"","kubeProxyVersion":"","operatingSystem":"","architecture":""}}}}
{"apiVersion":"batch/v1","kind":"Job","spec":{"selector":{"matchExpressions":[{"key":"b","operator":"\u00e9<>&","key":"b"},{"key":"","operator":"b","values":["\u00e9<>&","TCP"]}],"matchLabels":{"a":"TCP"}},"completionMode":"a","managedBy":"a","successPolicy":{"rules":true},"parallelism":-5},"status":{}}
    !json: cannot unmarshal bool into Go struct field SuccessPolicy.spec.successPolicy.rules of type []v1.SuccessPolicyRule
{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","spec":{"scope":"2020","names":{"shortNames":["TCP"],"plural":"a"},"versions":[]},"status":{},"metadata":{"creationTimestamp":"2026-01-02T03:04:05Z","finalizers":[]}}
    {"kind":"CustomResourceDefinition","apiVersion":"apiextensions.k8s.io/v1","metadata":{"creationTimestamp":"2026-01-02T03:04:05Z"},"spec":{"group":"","names":{"plural":"a","shortNames":["TCP"],"kind":""},"scope":"2020","versions":null},"status":{"conditions":null,"acceptedNames":{"plural":"","kind":""},"storedVersions":null}}
{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"b"},"status":{"storedVersions":[""]},"spec":{"conversion":{},"names":{"shortNames":[],"kind":"a"},"versions":[]}}
    {"kind":"CustomResourceDefinition","apiVersion":"apiextensions.k8s.io/v1","metadata":{"name":"b"},"spec":{"group":"","names":{"plural":"","kind":"a"},"scope":"","versions":null,"conversion":{"strategy":""}},"status":{"conditions":null,"acceptedNames":{"plural":"","kind":""},"storedVersions":[""]}}
{"apiVersion":"events.k8s.io/v1","kind":"Event","related":{"name":"","namespace":"a","\u00e9":"\ud800x"},"reportingController":"b"}
    {"strict":["unknown field \"related.\u00e9\""],"value":{"kind":"Event","apiVersion":"events.k8s.io/v1","metadata":{},"eventTime":null,"reportingController":"b","regarding":{},"related":{"namespace":"a"},"deprecatedSource":{},"deprecatedFirstTimestamp":null,"deprecatedLastTimestamp":null}}
{"apiVersion":"v1","kind":"ConfigMap","immutable":true,"metadata":{"managedFields":[{"subresource":"","fieldsType":"\u00e9<>&"}],"namespace":"\u00e9<>&","selfLink":"TCP","labels":{},"finalizers":[null]},"immutable":true}
    {"strict":["duplicate field \"immutable\""],"value":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"namespace":"\u00e9<>&","selfLink":"TCP","finalizers":[""],"managedFields":[{"fieldsType":"\u00e9<>&"}]},"immutable":true}}
{"apiVersion":"v1","kind":"ConfigMap","binaryData":{},"metadata":{"resourceVersion":"\u00e9<>&","uid":"\u00e9<>&","uid":"TCP"}}
    {"strict":["duplicate field \"metadata.uid\""],"value":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"uid":"TCP","resourceVersion":"\u00e9<>&"}}}
{"apiVersion":"v1","kind":"Node","metadata":{"ownerReferences":[{"kind":1.5},{"blockOwnerDeletion":true,"controller":false,"name":{"a":1},"kind":"","uid":"a"}],"deletionGracePeriodSeconds":1,"labels":{},"creationTimestamp":"2026-01-02T03:04:05+02:00","generateName":"TCP"},"status":{"config":{"error":"\u00e9<>&","lastKnownGood":{},"active":{},"lastKnownGood":{"configMap":{"uid":"b","kubeletConfigKey":"TCP","name":"TCP"}}},"runtimeHandlers":[],"conditions":1e3}}
    !json: cannot unmarshal number into Go struct field OwnerReference.metadata.ownerReferences.kind of type string
{"apiVersion":"v1","kind":"ConfigMap","immutable":false,"data":{},"metadata":{"ownerReferences":[{"name":"","apiVersion":"b","uid":"TCP"}],"finalizers":["b"],"annotations":{}}}
    {"kind":"ConfigMap","apiVersion":"v1","metadata":{"ownerReferences":[{"apiVersion":"b","kind":"","name":"","uid":"TCP"}],"finalizers":["b"]},"immutable":false}
{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","status":{"acceptedNames":{"shortNames":[],"listKind":"b","singular":"\u00e9<>&","categories":["TCP"],"kind":"\u00e9<>&"},"storedVersions":["\u00e9<>&","b"],"conditions":[{"observedGeneration":2147483647,"type":"TCP","message":"TCP","lastTransitionTime":"2026-01-02T03:04:05.5Z","reason":"b"}],"observedGeneration":2147483648},"metadata":{"labels":{},"finalizers":["a","b"]}}
    {"kind":"CustomResourceDefinition","apiVersion":"apiextensions.k8s.io/v1","metadata":{"finalizers":["a","b"]},"spec":{"group":"","names":{"plural":"","kind":""},"scope":"","versions":null},"status":{"conditions":[{"type":"TCP","status":"","lastTransitionTime":"2026-01-02T03:04:05Z","reason":"b","message":"TCP","observedGeneration":2147483647}],"acceptedNames":{"plural":"","singular":"\u00e9<>&","kind":"\u00e9<>&","listKind":"b","categories":["TCP"]},"storedVersions":["\u00e9<>&","b"],"observedGeneration":2147483648}}
{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","spec":{},"metadata":{"annotations":"\u00e9<"},"status":{}}
    !json: cannot unmarshal string into Go struct field ObjectMeta.metadata.annotations of type map[string]string
{"apiVersion":"authorization.k8s.io/v1","kind":"SelfSubjectAccessReview","spec":{"resourceAttributes":{"verb":"","namespace":"TCP","name":"b"}},"metadata":{"managedFields":[]},"status":{"evaluationError":"TCP","allowed":false,"denied":true,"reason":"b"}}
    {"kind":"SelfSubjectAccessReview","apiVersion":"authorization.k8s.io/v1","metadata":{},"spec":{"resourceAttributes":{"namespace":"TCP","name":"b"}},"status":{"allowed":false,"denied":true,"reason":"b","evaluationError":"TCP"}}
{"apiVersion":"authorization.k8s.io/v1","kind":"SelfSubjectAccessReview","status":{"evaluationError":"b","allowed":true,"reason":"TCP","denied":false},"status":{"reason":"a"}}
    {"strict":["duplicate field \"status\""],"value":{"kind":"SelfSubjectAccessReview","apiVersion":"authorization.k8s.io/v1","metadata":{},"spec":{},"status":{"allowed":true,"reason":"a","evaluationError":"b"}}}
{"apiVersion":"scheduling.k8s.io/v1beta1","kind":"PodGroup","status":{"conditions":[{"status":"TCP","lastTransitionTime":"2026-01-02T03:04:05Z","type":"\u00e9<>&","observedGeneration":1,"reason":"TCP"}],"resourceClaimStatuses":[{"name":"TCP","resourceClaimName":"a"}]},"metadata":{"name":"b","uid":"a","annotations":{"d":"b"}},"spec":{"resourceClaims":[{"name":"TCP","resourceClaimTemplateName":"b","resourceClaimName":"\u00e9<>&"}],"priority":2147483647,"workloadRef":{"workloadName":"a"}}}
    {"kind":"PodGroup","apiVersion":"scheduling.k8s.io/v1beta1","metadata":{"name":"b","uid":"a","annotations":{"d":"b"}},"spec":{"workloadRef":{"workloadName":"a","templateName":""},"schedulingPolicy":{},"resourceClaims":[{"name":"TCP","resourceClaimName":"\u00e9<>&","resourceClaimTemplateName":"b"}],"priority":2147483647},"status":{"conditions":[{"type":"\u00e9<>&","status":"TCP","observedGeneration":1,"lastTransitionTime":"2026-01-02T03:04:05Z","reason":"TCP","message":""}],"resourceClaimStatuses":[{"name":"TCP","resourceClaimName":"a"}]}}
{"apiVersion":"scheduling.k8s.io/v1beta1","kind":"PodGroup","status":{"resourceClaimStatuses":[{"resourceClaimName":"\u00e9<>&","name":"TCP"}],"conditions":[{"reason":"a"}]},"spec":{"priorityClassName":"","disruptionMode":9223372036854775808}}
    !json: cannot unmarshal number into Go struct field PodGroupSpec.spec.disruptionMode of type v1beta1.DisruptionMode
{"apiVersion":"batch/v1","kind":"Job","status":{"completionTime":"2026-01-02T03:04:05Z","active":1,"uncountedTerminatedPods":{"succeeded":["b"],"succeeded":[]},"uncountedTerminatedPods":{"succeeded":["a"],"failed":["","\u00e9<>&"],"succeeded":["b"]}},"spec":{"suspend":false,"ttlSecondsAfterFinished":{"a":1}}}
    !json: cannot unmarshal object into Go struct field JobSpec.spec.ttlSecondsAfterFinished of type int32
{"apiVersion":"authorization.k8s.io/v1","kind":"SelfSubjectAccessReview","metadata":{"creationTimestamp":"2026-01-02T03:04:05Z"},"spec":{"resourceAttributes":{"fieldSelector":{}},"nonResourceAttributes":{"path":"b","verb":""}}}
    {"kind":"SelfSubjectAccessReview","apiVersion":"authorization.k8s.io/v1","metadata":{"creationTimestamp":"2026-01-02T03:04:05Z"},"spec":{"resourceAttributes":{"fieldSelector":{}},"nonResourceAttributes":{"path":"b"}},"status":{"allowed":false}}
{"apiVersion":"v1","kind":"Pod","spec":{"tolerations":[{"value":"TCP","key":"TCP","effect":""},{}]},"status":{"qosClass":"a","startTime":"2026-01-02T03:04:05Z"}}
    {"kind":"Pod","apiVersion":"v1","metadata":{},"spec":{"containers":null,"tolerations":[{"key":"TCP","value":"TCP"},{}]},"status":{"startTime":"2026-01-02T03:04:05Z","qosClass":"a"}}
{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","spec":{"conversion":{"strategy":""}},"status":{},"metadata":{"selfLink":1e3,"finalizers":["a"],"generation":0}}
    !json: cannot unmarshal number into Go struct field ObjectMeta.metadata.selfLink of type string
{"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":{"uid":"a","generateName":"","deletionTimestamp":"1970-01-01T00:00:00Z"},"status":{},"spec":{"unhealthyPodEvictionPolicy":"TCP","selector":{"matchExpressions":[null,{}]},"maxUnavailable":"50%"}}
    {"kind":"PodDisruptionBudget","apiVersion":"policy/v1","metadata":{"uid":"a","deletionTimestamp":"1970-01-01T00:00:00Z"},"spec":{"selector":{"matchExpressions":[{"key":"","operator":""},{"key":"","operator":""}]},"maxUnavailable":"50%","unhealthyPodEvictionPolicy":"TCP"},"status":{"disruptionsAllowed":0,"currentHealthy":0,"desiredHealthy":0,"expectedPods":0}}
{"apiVersion":"v1","kind":"ConfigMap","data":{"d":"TCP"},"metadata":{"selfLink":"\u00e9<","Spec":[1],"ownerReferences":[],"finalizers":[],"labels":{"c":"TCP","a":"\u00e9<>&"},"resourceVersion":"TCP"},"binaryData":{"a":"YWI="}}
    {"strict":["unknown field \"metadata.Spec\""],"value":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"selfLink":"\u00e9<","resourceVersion":"TCP","labels":{"a":"\u00e9<>&","c":"TCP"}},"data":{"d":"TCP"},"binaryData":{"a":"YWI="}}}
{"apiVersion":"scheduling.k8s.io/v1beta1","kind":"PodGroup","metadata":{"annotations":{"b":"TCP"},"name":"\u00e9<>&","labels":{"b":"\u00e9<>&"}},"status":9223372036854775808}
    !json: cannot unmarshal number into Go struct field PodGroup.status of type v1beta1.PodGroupStatus
{"apiVersion":"v1","kind":"Node","spec":{"providerID":"\u00e9<>&","podCIDR":"a","configSource":{"configMap":{}},"externalID":"\u00e9<>&","podCIDRs":[],"configSource":{"configMap":{}}},"metadata":{"deletionGracePeriodSeconds":-2147483648,"annotations":{"c":"b"}},"status":{}}
    {"strict":["duplicate field \"spec.configSource\""],"value":{"kind":"Node","apiVersion":"v1","metadata":{"deletionGracePeriodSeconds":-2147483648,"annotations":{"c":"b"}},"spec":{"podCIDR":"a","providerID":"\u00e9<>&","configSource":{"configMap":{"namespace":"","name":"","kubeletConfigKey":""}},"externalID":"\u00e9<>&"},"status":{"daemonEndpoints":{"kubeletEndpoint":{"Port":0}},"nodeInfo":{"machineID":"","systemUUID":"","bootID":"","kernelVersion":"","osImage":"","containerRuntimeVersion":"","kubeletVersion":"","kubeProxyVersion":"","operatingSystem":"","architecture":""}}}}
{"apiVersion":"v1","kind":"Service","spec":{"loadBalancerIP":"TCP","externalIPs":["a"],"clusterIPs":[[]]},"metadata":{},"status":{"loadBalancer":{"ingress":[{"foo":"x","ip":"a","ports":[],"hostname":"TCP","ipMode":"b"},{"hostname":"b","ports":{},"ipMode":"a","ip":"b","ipMode":"TCP"}]}}}
    !json: cannot unmarshal array into Go struct field ServiceSpec.spec.clusterIPs of type string
{"apiVersion":"events.k8s.io/v1","kind":"Event","note":"","series":{"count":-2147483648,"lastObservedTime":"2026-01-02T03:04:05.000001Z"},"reportingInstance":"a"}
    {"kind":"Event","apiVersion":"events.k8s.io/v1","metadata":{},"eventTime":null,"series":{"count":-2147483648,"lastObservedTime":"2026-01-02T03:04:05.000001Z"},"reportingInstance":"a","regarding":{},"deprecatedSource":{},"deprecatedFirstTimestamp":null,"deprecatedLastTimestamp":null}
{"apiVersion":"v1","kind":"Node","spec":{},"metadata":{"uid":"b","resourceVersion":"x","deletionGracePeriodSeconds":"x"},"status":{"phase":"b","features":{"supplementalGroupsPolicy":true},"declaredFeatures":["TCP"]}}
    !json: cannot unmarshal string into Go struct field ObjectMeta.metadata.deletionGracePeriodSeconds of type int64
{"apiVersion":"v1","kind":"Pod","metadata":{"managedFields":[{"subresource":"b","apiVersion":"","operation":"TCP"}]},"spec":{},"status":{"startTime":"2026-01-02T03:04:05Z"}}
    {"kind":"Pod","apiVersion":"v1","metadata":{"managedFields":[{"operation":"TCP","subresource":"b"}]},"spec":{"containers":null},"status":{"startTime":"2026-01-02T03:04:05Z"}}
{"apiVersion":"scheduling.k8s.io/v1beta1","kind":"PodGroup","spec":{},"status":{"resourceClaimStatuses":[],"conditions":[{"type":"b"},{"lastTransitionTime":"1970-01-01T00:00:00Z"}]},"metadata":{"ownerReferences":["x"],"finalizers":["b"],"resourceVersion":"a","uid":null,"name":"TCP"}}
    !json: cannot unmarshal string into Go struct field ObjectMeta.metadata.ownerReferences of type v1.OwnerReference
{"apiVersion":"scheduling.k8s.io/v1beta1","kind":"Workload","spec":{"controllerRef":{"apiGroup":"a","name":"TCP","kind":"\u00e9<>&"},"compositePodGroupTemplates":[],"compositePodGroupTemplates":[{"schedulingPolicy":{"gang":{}},"a\"b":0,"disruptionMode":{},"a\"b":1.5}]},"metadata":{"generation":-2147483648,"uid":"b","name":"a","finalizers":[],"managedFields":[{},{"fieldsType":"","apiVersion":"\u00e9<>&","time":"2026-01-02T03:04:05Z","fieldsV1":5,"operation":"b","apiVersion":""}]}}
    {"strict":["duplicate field \"spec.compositePodGroupTemplates\"","unknown field \"spec.compositePodGroupTemplates[0].a\\\"b\"","duplicate field \"metadata.managedFields[1].apiVersion\""],"value":{"kind":"Workload","apiVersion":"scheduling.k8s.io/v1beta1","metadata":{"name":"a","uid":"b","generation":-2147483648,"managedFields":[{},{"operation":"b","time":"2026-01-02T03:04:05Z","fieldsV1":5}]},"spec":{"controllerRef":{"apiGroup":"a","kind":"\u00e9<>&","name":"TCP"},"podGroupTemplates":null,"compositePodGroupTemplates":[{"name":"","schedulingPolicy":{"gang":{"minGroupCount":0}},"disruptionMode":{}}]}}}
{"apiVersion":"authorization.k8s.io/v1","kind":"SelfSubjectAccessReview","metadata":{"labels":{"a":"TCP"},"namespace":"\u00e9<>&","annotations":{"b":"b","a":"TCP"}},"metadata":{"managedFields":[],"selfLink":"TCP","labels":{"b":"TCP","d":"b"}}}
    {"strict":["duplicate field \"metadata\""],"value":{"kind":"SelfSubjectAccessReview","apiVersion":"authorization.k8s.io/v1","metadata":{"namespace":"\u00e9<>&","selfLink":"TCP","labels":{"a":"TCP","b":"TCP","d":"b"},"annotations":{"a":"TCP","b":"b"}},"spec":{},"status":{"allowed":false}}}
{"apiVersion":"authorization.k8s.io/v1","kind":"SelfSubjectAccessReview","status":{"allowed":false,"evaluationError":"a","denied":false},"status":{"reason":"TCP","denied":false,"evaluationError":"\u00e9<>&","allowed":9223372036854775808}}
    !json: cannot unmarshal number into Go struct field SubjectAccessReviewStatus.status.allowed of type bool
{"apiVersion":"batch/v1","kind":"Job","metadata":{"namespace":"\u00e9<>&"},"status":{"startTime":"2026-01-02T03:04:05+02:00","uncountedTerminatedPods":{"succeeded":[]}},"foo":0,"spec":1e3}
    !json: cannot unmarshal number into Go struct field Job.spec of type v1.JobSpec
{"apiVersion":"v1","kind":"Event","reportingComponent":"TCP","involvedObject":{"uid":"\u00e9<>&","namespace":"b","resourceVersion":"","kind":"TCP","fieldPath":""},"series":""}
    !json: cannot unmarshal string into Go struct field Event.series of type v1.EventSeries
{"apiVersion":"v1","kind":"Secret","metadata":{"managedFields":[{"operation":""},{"subresource":"a","fieldsV1":5,"apiVersion":"b"}],"deletionGracePeriodSeconds":-5,"resourceVersion":"","finalizers":[],"annotations":{"b":{}}}}
    !json: cannot unmarshal object into Go struct field ObjectMeta.metadata.annotations of type string
{"apiVersion":"events.k8s.io/v1","kind":"Event","deprecatedSource":{"component":"b","host":-7},"reportingInstance":"\u00e9<>&"}
    !json: cannot unmarshal number into Go struct field EventSource.deprecatedSource.host of type string
{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","spec":{"holderIdentity":"b","preferredHolder":"","renewTime":"2020","leaseDurationSeconds":2147483647,"acquireTime":"2026-01-02T03:04:05.123456+02:00"}}
    !parsing time "2020" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "" as "-"
{"apiVersion":"scheduling.k8s.io/v1beta1","kind":"PodGroup","status":{},"metadata":{"generateName":"\u00e9<>&","labels":{"d":"a","c":"a"},"uid":"b"},"spec":{"parentCompositePodGroupName":"a","priority":1}}
    {"kind":"PodGroup","apiVersion":"scheduling.k8s.io/v1beta1","metadata":{"generateName":"\u00e9<>&","uid":"b","labels":{"c":"a","d":"a"}},"spec":{"parentCompositePodGroupName":"a","schedulingPolicy":{},"priority":1},"status":{}}
{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","status":{},"metadata":{"annotations":{"b":"a","d":"a"}},"spec":{"names":{"singular":"","listKind":""}}}
    {"kind":"CustomResourceDefinition","apiVersion":"apiextensions.k8s.io/v1","metadata":{"annotations":{"b":"a","d":"a"}},"spec":{"group":"","names":{"plural":"","kind":""},"scope":"","versions":null},"status":{"conditions":null,"acceptedNames":{"plural":"","kind":""},"storedVersions":null}}
{"apiVersion":"policy/v1","kind":"PodDisruptionBudget","status":{"currentHealthy":2147483648,"disruptionsAllowed":0,"conditions":[{"lastTransitionTime":"2026-01-02T03:04:05.5Z"}],"expectedPods":"","observedGeneration":99999999999},"spec":{"maxUnavailable":0,"minAvailable":"50%"},"metadata":{"resourceVersion":"TCP","a\"b":0,"ownerReferences":[{"blockOwnerDeletion":true,"uid":"TCP"},{"apiVersion":"\u00e9<>&","blockOwnerDeletion":false}]}}
    !json: cannot unmarshal number 2147483648 into Go struct field PodDisruptionBudgetStatus.status.currentHealthy of type int32
{"apiVersion":"v1","kind":"Pod","spec":{"setHostnameAsFQDN":true,"tolerations":[],"initContainers":[]},"status":{"qosClass":"TCP"}}
    {"kind":"Pod","apiVersion":"v1","metadata":{},"spec":{"containers":null,"setHostnameAsFQDN":true},"status":{"qosClass":"TCP"}}
{"apiVersion":"events.k8s.io/v1","kind":"Event","action":"b","metadata":{"finalizers":[],"creationTimestamp":"","deletionGracePeriodSeconds":2147483647,"labels":{},"generation":0}}
    !parsing time "" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "2006"
{"apiVersion":"scheduling.k8s.io/v1beta1","kind":"Workload","spec":{},"metadata":{"annotations":{},"deletionGracePeriodSeconds":-2147483648,"generation":1,"namespace":"b","creationTimestamp":{"a":1}}}
    !json: cannot unmarshal object into Go struct field ObjectMeta.metadata.creationTimestamp of type string
{"apiVersion":"authorization.k8s.io/v1","kind":"SelfSubjectAccessReview","metadata":{},"status":{"Spec":"\ud800x","evaluationError":"","reason":"a"}}
    {"strict":["unknown field \"status.Spec\""],"value":{"kind":"SelfSubjectAccessReview","apiVersion":"authorization.k8s.io/v1","metadata":{},"spec":{},"status":{"allowed":false,"reason":"a"}}}
{"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":1.0,"status":[[]],"spec":{"maxUnavailable":"","selector":{"matchExpressions":[0,{"Spec":1.0,"key":"a","values":["a"]}],"matchLabels":{"c":""}},"unhealthyPodEvictionPolicy":"\u00e9<>&"},"spec":{"minAvailable":"50%","selector":{"matchExpressions":[{"values":["TCP"],"operator":"TCP"}],"matchLabels":{}}}}
    !json: cannot unmarshal number into Go struct field PodDisruptionBudget.metadata of type v1.ObjectMeta
{"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":{"generation":0,"annotations":{"d":"b","b":"\u00e9<>&"}}}
    {"kind":"PodDisruptionBudget","apiVersion":"policy/v1","metadata":{"annotations":{"b":"\u00e9<>&","d":"b"}},"spec":{},"status":{"disruptionsAllowed":0,"currentHealthy":0,"desiredHealthy":0,"expectedPods":0}}
{"apiVersion":"v1","kind":"Node","metadata":{},"status":{"daemonEndpoints":{"kubeletEndpoint":{}},"features":{"supplementalGroupsPolicy":false},"images":[{"sizeBytes":2147483648,"names":["b"]},{"sizeBytes":2147483648,"names":[]}]},"spec":{"externalID":"TCP"}}
    {"kind":"Node","apiVersion":"v1","metadata":{},"spec":{"externalID":"TCP"},"status":{"daemonEndpoints":{"kubeletEndpoint":{"Port":0}},"nodeInfo":{"machineID":"","systemUUID":"","bootID":"","kernelVersion":"","osImage":"","containerRuntimeVersion":"","kubeletVersion":"","kubeProxyVersion":"","operatingSystem":"","architecture":""},"images":[{"names":["b"],"sizeBytes":2147483648},{"names":null,"sizeBytes":2147483648}],"features":{"supplementalGroupsPolicy":false}}}
{"apiVersion":"v1","kind":"Service","status":{"loadBalancer":{"ingress":[{"ip":"a","ipMode":""}]}},"metadata":{"managedFields":[{"fieldsType":"b","fieldsV1":{"a":[1,2.0,null,"x",1e3]},"manager":"TCP"},{"operation":""}]},"spec":{"ipFamilies":["","b"],"clusterIPs":["a"],"sessionAffinity":"","externalName":"a","loadBalancerClass":""}}
    {"kind":"Service","apiVersion":"v1","metadata":{"managedFields":[{"manager":"TCP","fieldsType":"b","fieldsV1":{"a":[1,2.0,null,"x",1000.0]}},{}]},"spec":{"clusterIPs":["a"],"externalName":"a","ipFamilies":["","b"],"loadBalancerClass":""},"status":{"loadBalancer":{"ingress":[{"ip":"a","ipMode":""}]}}}
{"apiVersion":"authorization.k8s.io/v1","kind":"SelfSubjectAccessReview","status":{},"metadata":{"deletionGracePeriodSeconds":2147483647,"deletionTimestamp":"2026-01-02T03:04:05Z","annotations":{}},"spec":{"resourceAttributes":{"fieldSelector":{"requirements":[{"operator":"\u00e9<>&","key":"TCP","values":[""]}],"rawSelector":"a"},"resource":""},"nonResourceAttributes":{"verb":""}}}
    {"kind":"SelfSubjectAccessReview","apiVersion":"authorization.k8s.io/v1","metadata":{"deletionTimestamp":"2026-01-02T03:04:05Z","deletionGracePeriodSeconds":2147483647},"spec":{"resourceAttributes":{"fieldSelector":{"rawSelector":"a","requirements":[{"key":"TCP","operator":"\u00e9<>&","values":[""]}]}},"nonResourceAttributes":{}},"status":{"allowed":false}}
{"apiVersion":"v1","kind":"Secret","metadata":{"deletionGracePeriodSeconds":1,"managedFields":[{"subresource":"\u00e9<>&","fieldsV1":{},"time":"1970-01-01T00:00:00Z"},{"time":"2026-01-02T03:04:05.5Z","fieldsType":"a","apiVersion":"b","operation":"a","fieldsV1":1.0}],"namespace":""},"type":"\u00e9<>&","stringData":{"a":"\u00e9<>&"},"foo":1e3}
    {"strict":["unknown field \"foo\""],"value":{"kind":"Secret","apiVersion":"v1","metadata":{"deletionGracePeriodSeconds":1,"managedFields":[{"time":"1970-01-01T00:00:00Z","fieldsV1":{},"subresource":"\u00e9<>&"},{"operation":"a","apiVersion":"b","time":"2026-01-02T03:04:05Z","fieldsType":"a","fieldsV1":1.0}]},"stringData":{"a":"\u00e9<>&"},"type":"\u00e9<>&"}}
{"apiVersion":"policy/v1","kind":"PodDisruptionBudget","status":{"desiredHealthy":-2147483648,"observedGeneration":2147483648,"disruptionsAllowed":-2147483648,"expectedPods":0,"currentHealthy":-2147483648,"disruptionsAllowed":1}}
    {"strict":["duplicate field \"status.disruptionsAllowed\""],"value":{"kind":"PodDisruptionBudget","apiVersion":"policy/v1","metadata":{},"spec":{},"status":{"observedGeneration":2147483648,"disruptionsAllowed":1,"currentHealthy":-2147483648,"desiredHealthy":-2147483648,"expectedPods":0}}}
{"apiVersion":"batch/v1","kind":"Job","metadata":{},"spec":{"selector":{"matchExpressions":[{}],"matchLabels":{"b":"TCP","d":1.0}},"completionMode":1.5,"template":{"metadata":{"namespace":"","ownerReferences":[],"name":"a"},"spec":{"dnsPolicy":"b"}}}}
    !json: cannot unmarshal number into Go struct field LabelSelector.spec.selector.matchLabels of type string
{"apiVersion":"v1","kind":"Node","spec":{"podCIDRs":["a","b"],"taints":[{"value":"a","timeAdded":"2026-01-02T03:04:05+02:00","effect":"b","key":"a"}],"podCIDR":"","providerID":"a","configSource":{"configMap":{"uid":"TCP","kubeletConfigKey":"","namespace":"a","name":"TCP","resourceVersion":"b"}}}}
    {"kind":"Node","apiVersion":"v1","metadata":{},"spec":{"podCIDRs":["a","b"],"providerID":"a","taints":[{"key":"a","value":"a","effect":"b","timeAdded":"2026-01-02T01:04:05Z"}],"configSource":{"configMap":{"namespace":"a","name":"TCP","uid":"TCP","resourceVersion":"b","kubeletConfigKey":""}}},"status":{"daemonEndpoints":{"kubeletEndpoint":{"Port":0}},"nodeInfo":{"machineID":"","systemUUID":"","bootID":"","kernelVersion":"","osImage":"","containerRuntimeVersion":"","kubeletVersion":"","kubeProxyVersion":"","operatingSystem":"","architecture":""}}}
{"apiVersion":"policy/v1","kind":"PodDisruptionBudget","status":{"disruptionsAllowed":-2147483648,"expectedPods":-5,"currentHealthy":1,"desiredHealthy":-2147483648,"disruptedPods":{"c":"2026-01-02T03:04:05.5Z","d":"2026-01-02T03:04:05+02:00"}}}
    {"kind":"PodDisruptionBudget","apiVersion":"policy/v1","metadata":{},"spec":{},"status":{"disruptedPods":{"c":"2026-01-02T03:04:05Z","d":"2026-01-02T01:04:05Z"},"disruptionsAllowed":-2147483648,"currentHealthy":1,"desiredHealthy":-2147483648,"expectedPods":-5}}
{"apiVersion":"scheduling.k8s.io/v1beta1","kind":"PodGroup","metadata":{},"spec":{"schedulingPolicy":{"gang":{"minCount":1}},"resourceClaims":[{}],"workloadRef":{"\u00e9":0,"workloadName":"","templateName":"TCP"},"preemptionPolicy":"b","priorityClassName":"a"}}
    {"strict":["unknown field \"spec.workloadRef.\u00e9\""],"value":{"kind":"PodGroup","apiVersion":"scheduling.k8s.io/v1beta1","metadata":{},"spec":{"workloadRef":{"workloadName":"","templateName":"TCP"},"schedulingPolicy":{"gang":{"minCount":1}},"resourceClaims":[{"name":""}],"priorityClassName":"a","preemptionPolicy":"b"},"status":{}}}
{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","spec":{"holderIdentity":[null],"acquireTime":"2026-01-02T03:04:05.000001Z","preferredHolder":"\u00e9<>&","strategy":"\u00e9<>&","leaseTransitions":2147483647},"metadata":{"deletionTimestamp":{"a":1},"generation":2147483647,"finalizers":["TCP"]}}
    !json: cannot unmarshal object into Go struct field ObjectMeta.metadata.deletionTimestamp of type string
{"apiVersion":"scheduling.k8s.io/v1beta1","kind":"PodGroup","status":{"conditions":[{"observedGeneration":0},{"reason":"\u00e9<>&","status":"b"}]}}
    {"kind":"PodGroup","apiVersion":"scheduling.k8s.io/v1beta1","metadata":{},"spec":{"schedulingPolicy":{}},"status":{"conditions":[{"type":"","status":"","lastTransitionTime":null,"reason":"","message":""},{"type":"","status":"b","lastTransitionTime":null,"reason":"\u00e9<>&","message":""}]}}
{"apiVersion":"batch/v1","kind":"Job","status":{"completionTime":"2026-01-02T03:04:05.5Z","completedIndexes":"TCP","uncountedTerminatedPods":{"failed":["TCP","b"],"succeeded":[]}},"metadata":{"annotations":{},"foo":[1]},"spec":{"completionMode":"a","parallelism":0,"podReplacementPolicy":"TCP","backoffLimit":2147483647,"completions":2147483647},"metadata":{"deletionGracePeriodSeconds":2147483647,"generation":1}}
    {"strict":["unknown field \"metadata.foo\"","duplicate field \"metadata\""],"value":{"kind":"Job","apiVersion":"batch/v1","metadata":{"generation":1,"deletionGracePeriodSeconds":2147483647},"spec":{"parallelism":0,"completions":2147483647,"backoffLimit":2147483647,"template":{"metadata":{},"spec":{"containers":null}},"completionMode":"a","podReplacementPolicy":"TCP"},"status":{"completionTime":"2026-01-02T03:04:05Z","completedIndexes":"TCP","uncountedTerminatedPods":{"failed":["TCP","b"]}}}}
{"apiVersion":"batch/v1","kind":"Job","spec":{"managedBy":-7,"podReplacementPolicy":"TCP","successPolicy":{"rules":"x"}}}
    !json: cannot unmarshal number into Go struct field JobSpec.spec.managedBy of type string
{"apiVersion":"v1","kind":"Secret","stringData":{},"metadata":{"labels":{},"annotations":{},"finalizers":["a"]},"immutable":true,"type":"a"}
    {"kind":"Secret","apiVersion":"v1","metadata":{"finalizers":["a"]},"immutable":true,"type":"a"}
{"apiVersion":"scheduling.k8s.io/v1beta1","kind":"Workload","metadata":{"annotations":{"c":"a","b":"a"},"\u00e9":{},"ownerReferences":[{}]}}
    {"strict":["unknown field \"metadata.\u00e9\""],"value":{"kind":"Workload","apiVersion":"scheduling.k8s.io/v1beta1","metadata":{"annotations":{"b":"a","c":"a"},"ownerReferences":[{"apiVersion":"","kind":"","name":"","uid":""}]},"spec":{"podGroupTemplates":null}}}
{"apiVersion":"v1","kind":"Node","spec":{"externalID":"a","podCIDRs":["TCP"]},"metadata":{},"status":{"declaredFeatures":["","TCP"],"daemonEndpoints":{"kubeletEndpoint":{}}}}
    {"kind":"Node","apiVersion":"v1","metadata":{},"spec":{"podCIDRs":["TCP"],"externalID":"a"},"status":{"daemonEndpoints":{"kubeletEndpoint":{"Port":0}},"nodeInfo":{"machineID":"","systemUUID":"","bootID":"","kernelVersion":"","osImage":"","containerRuntimeVersion":"","kubeletVersion":"","kubeProxyVersion":"","operatingSystem":"","architecture":""},"declaredFeatures":["","TCP"]}}
{"apiVersion":"v1","kind":"ConfigMap","binaryData":{"d":"YWI=","c":"x"},"data":{"b":"TCP"},"metadata":{"deletionTimestamp":"2026-01-02T03:04:05+02:00"}}
    !illegal base64 data at input byte 0
{"apiVersion":"batch/v1","kind":"Job","status":{"succeeded":-2147483648,"failed":1,"startTime":"2026-01-02T03:04:05Z"},"metadata":{},"spec":{"ttlSecondsAfterFinished":1.0,"template":{"metadata":{},"spec":{"dnsConfig":{"nameservers":["TCP"]},"hostPID":true}},"completionMode":""}}
    !json: cannot unmarshal number 1.0 into Go struct field JobSpec.spec.ttlSecondsAfterFinished of type int32
{"apiVersion":"v1","kind":"Service","spec":{"sessionAffinityConfig":{"clientIP":{}},"selector":"\u00e9<","clusterIP":"TCP","loadBalancerClass":"\u00e9<>&","allocateLoadBalancerNodePorts":true}}
    !json: cannot unmarshal string into Go struct field ServiceSpec.spec.selector of type map[string]string
{"apiVersion":"v1","kind":"Node","status":{"images":[]},"spec":{"podPreemptionPolicy":{"disableResizePreemption":["b"]},"podCIDR":"\u00e9<>&","podCIDRs":["a"]}}
    {"kind":"Node","apiVersion":"v1","metadata":{},"spec":{"podCIDR":"\u00e9<>&","podCIDRs":["a"],"podPreemptionPolicy":{"disableResizePreemption":["b"]}},"status":{"daemonEndpoints":{"kubeletEndpoint":{"Port":0}},"nodeInfo":{"machineID":"","systemUUID":"","bootID":"","kernelVersion":"","osImage":"","containerRuntimeVersion":"","kubeletVersion":"","kubeProxyVersion":"","operatingSystem":"","architecture":""}}}
{"apiVersion":"events.k8s.io/v1","kind":"Event","series":{"count":2147483648,"lastObservedTime":"2026-01-02T03:04:05.000001Z"},"deprecatedFirstTimestamp":"2026-01-02T03:04:05+02:00","note":"b"}
    !json: cannot unmarshal number 2147483648 into Go struct field EventSeries.series.count of type int32
{"apiVersion":"batch/v1","kind":"Job","metadata":{"selfLink":""},"spec":{"backoffLimitPerIndex":2147483648,"manualSelector":false,"completions":1,"template":{"spec":{"terminationGracePeriodSeconds":-2147483648,"volumes":[{"glusterfs":{"endpoints":"b","readOnly":false,"path":""},"flocker":{"datasetUUID":"b","datasetName":"TCP"}},{"configMap":[]}]},"metadata":{"selfLink":"","generation":-2147483648,"finalizers":["b"]}},"podFailurePolicy":{"rules":[{}]}}}
    !json: cannot unmarshal number 2147483648 into Go struct field JobSpec.spec.backoffLimitPerIndex of type int32
{"apiVersion":"batch/v1","kind":"Job","spec":{"maxFailedIndexes":2147483648,"successPolicy":{"rules":[{}]},"parallelism":2147483648}}
    !json: cannot unmarshal number 2147483648 into Go struct field JobSpec.spec.maxFailedIndexes of type int32
{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","spec":{"leaseTransitions":1,"acquireTime":"2026-01-02T03:04:05.123456+02:00","renewTime":99999999999,"preferredHolder":"\u00e9<>&","leaseDurationSeconds":1},"metadata":{"managedFields":[],"deletionGracePeriodSeconds":-5}}
    !json: cannot unmarshal number into Go struct field LeaseSpec.spec.renewTime of type string
{"apiVersion":"v1","kind":"Node","\u00e9":true,"spec":{"taints":[{"key":"","effect":""},{"timeAdded":"2026-01-02T03:04:05.5Z","effect":"b","key":"TCP"}]},"metadata":{"deletionGracePeriodSeconds":-5,"managedFields":[{"fieldsType":"TCP"}],"resourceVersion":"b","labels":{"c":"b"},"selfLink":"TCP"}}
    {"strict":["unknown field \"\u00e9\""],"value":{"kind":"Node","apiVersion":"v1","metadata":{"selfLink":"TCP","resourceVersion":"b","deletionGracePeriodSeconds":-5,"labels":{"c":"b"},"managedFields":[{"fieldsType":"TCP"}]},"spec":{"taints":[{"key":"","effect":""},{"key":"TCP","effect":"b","timeAdded":"2026-01-02T03:04:05Z"}]},"status":{"daemonEndpoints":{"kubeletEndpoint":{"Port":0}},"nodeInfo":{"machineID":"","systemUUID":"","bootID":"","kernelVersion":"","osImage":"","containerRuntimeVersion":"","kubeletVersion":"","kubeProxyVersion":"","operatingSystem":"","architecture":""}}}}
{"apiVersion":"batch/v1","kind":"Job","metadata":{"generation":-5,"deletionTimestamp":1.5,"ownerReferences":[{},{"apiVersion":""}]}}
    !json: cannot unmarshal number into Go struct field ObjectMeta.metadata.deletionTimestamp of type string
{"apiVersion":"batch/v1","kind":"Job","spec":{"activeDeadlineSeconds":0,"managedBy":"a","parallelism":-2147483648,"podFailurePolicy":{"rules":{"a":1}},"backoffLimitPerIndex":2147483648},"metadata":"\u00e9<"}
    !json: cannot unmarshal object into Go struct field PodFailurePolicy.spec.podFailurePolicy.rules of type []v1.PodFailurePolicyRule
{"apiVersion":"authorization.k8s.io/v1","kind":"SelfSubjectAccessReview","spec":{},"metadata":{"name":"TCP","ownerReferences":[{"kind":"TCP","apiVersion":"TCP","controller":true,"foo":null,"uid":"TCP","blockOwnerDeletion":true}]},"status":{}}
    {"strict":["unknown field \"metadata.ownerReferences[0].foo\""],"value":{"kind":"SelfSubjectAccessReview","apiVersion":"authorization.k8s.io/v1","metadata":{"name":"TCP","ownerReferences":[{"apiVersion":"TCP","kind":"TCP","name":"","uid":"TCP","controller":true,"blockOwnerDeletion":true}]},"spec":{},"status":{"allowed":false}}}
{"apiVersion":"v1","kind":"Node","status":{"nodeInfo":{"kubeProxyVersion":"a","operatingSystem":"TCP","kubeletVersion":"\u00e9<>&"},"addresses":[{"type":"","address":""}],"allocatable":{"a":5,"a":"100Gi"},"conditions":[],"images":[]}}
    {"strict":["duplicate field \"status.allocatable.a\""],"value":{"kind":"Node","apiVersion":"v1","metadata":{},"spec":{},"status":{"allocatable":{"a":"100Gi"},"addresses":[{"type":"","address":""}],"daemonEndpoints":{"kubeletEndpoint":{"Port":0}},"nodeInfo":{"machineID":"","systemUUID":"","bootID":"","kernelVersion":"","osImage":"","containerRuntimeVersion":"","kubeletVersion":"\u00e9<>&","kubeProxyVersion":"a","operatingSystem":"TCP","architecture":""}}}}
{"apiVersion":"authorization.k8s.io/v1","kind":"SelfSubjectAccessReview","metadata":{"deletionGracePeriodSeconds":0,"deletionTimestamp":"1970-01-01T00:00:00Z","generation":0},"status":{"allowed":true}}
    {"kind":"SelfSubjectAccessReview","apiVersion":"authorization.k8s.io/v1","metadata":{"deletionTimestamp":"1970-01-01T00:00:00Z","deletionGracePeriodSeconds":0},"spec":{},"status":{"allowed":true}}
{"apiVersion":"scheduling.k8s.io/v1beta1","kind":"Workload","metadata":{"uid":"TCP","selfLink":"a","ownerReferences":[{},{"apiVersion":[[]],"blockOwnerDeletion":true,"name":"\ud800x"}]}}
    !json: cannot unmarshal array into Go struct field OwnerReference.metadata.ownerReferences.apiVersion of type string
{"apiVersion":"v1","kind":"Service","spec":{"loadBalancerClass":"","type":"b"},"status":1e3,"metadata":{"ownerReferences":[]}}
    !json: cannot unmarshal number into Go struct field Service.status of type v1.ServiceStatus
"""
"""Objects through Go's structs and their protobuf, as the API server stores them."""

CONVERTED = r"""
{"apiVersion":"v1","kind":"Pod","spec":{"containers":"x"}}
    !cannot restore slice from string
{"apiVersion":"v1","kind":"Pod","spec":{"containers":[3]}}
    !cannot restore struct from: int64
{"apiVersion":"v1","kind":"Pod","spec":{"priority":"x"}}
    !unrecognized type: int32
{"apiVersion":"v1","kind":"Pod","spec":{"priority":1.5}}
    !cannot convert float64 to int32
{"apiVersion":"v1","kind":"Pod","spec":{"priority":2.0}}
    {"kind":"Pod","apiVersion":"v1","metadata":{},"spec":{"containers":null,"priority":2},"status":{}}
{"apiVersion":"v1","kind":"Pod","spec":{"hostname":3}}
    !cannot convert int64 to string
{"apiVersion":"v1","kind":"Pod","spec":{"hostname":true}}
    !unrecognized type: string
{"apiVersion":"v1","kind":"Pod","spec":{"hostname":1.5}}
    !unrecognized type: string
{"apiVersion":"v1","kind":"Pod","spec":{"restartPolicy":3}}
    !cannot convert int64 to v1.RestartPolicy
{"apiVersion":"v1","kind":"Pod","spec":{"hostNetwork":"x"}}
    !unrecognized type: bool
{"apiVersion":"v1","kind":"Pod","spec":{"hostNetwork":1}}
    !unrecognized type: bool
{"apiVersion":"v1","kind":"Pod","spec":3}
    !cannot restore struct from: int64
{"apiVersion":"v1","kind":"Pod","metadata":{"labels":[]}}
    !cannot restore map from slice
{"apiVersion":"v1","kind":"Pod","metadata":{"labels":{"a":3}}}
    !cannot convert int64 to string
{"apiVersion":"v1","kind":"Pod","metadata":{"creationTimestamp":3}}
    !json: cannot unmarshal number into Go value of type string
{"apiVersion":"v1","kind":"Pod","metadata":{"creationTimestamp":"x"}}
    !parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006"
{"apiVersion":"v1","kind":"Pod","spec":{"foo":1,"containers":[{"bar":1}]},"aaa":1}
    {"strict":["unknown field \"aaa\"","unknown field \"spec.containers[0].bar\"","unknown field \"spec.foo\""],"value":{"kind":"Pod","apiVersion":"v1","metadata":{},"spec":{"containers":[{"name":"","resources":{}}]},"status":{}}}
{"apiVersion":"v1","kind":"Pod","spec":{"containers":[{"resources":{"limits":{"cpu":"x"}}}]}}
    !quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'
{"apiVersion":"v1","kind":"Pod","spec":{"containers":[{"ports":[{"containerPort":99999999999}]}]}}
    {"kind":"Pod","apiVersion":"v1","metadata":{},"spec":{"containers":[{"name":"","ports":[{"containerPort":1215752191}],"resources":{}}]},"status":{}}
{"apiVersion":"v1","kind":"Pod","spec":{"containers":[{"livenessProbe":{"httpGet":{"port":true}}}]}}
    !json: cannot unmarshal bool into Go value of type int32
{"apiVersion":"v1","kind":"Pod","spec":{"containers":[{"args":[1]}]}}
    !cannot convert int64 to string
"""
"""Pods that were maps, as after a strategic merge patch."""

YAML_SCALARS = r"""
"metadata: {managedFields: [{fieldsV1: {v: yes}}]}"
    {"v":true}
"metadata: {managedFields: [{fieldsV1: {v: no}}]}"
    {"v":false}
"metadata: {managedFields: [{fieldsV1: {v: y}}]}"
    {"v":true}
"metadata: {managedFields: [{fieldsV1: {v: on}}]}"
    {"v":true}
"metadata: {managedFields: [{fieldsV1: {v: Off}}]}"
    {"v":false}
"metadata: {managedFields: [{fieldsV1: {v: TRUE}}]}"
    {"v":true}
"metadata: {managedFields: [{fieldsV1: {v: ~}}]}"
    {"v":null}
"metadata: {managedFields: [{fieldsV1: {v: null}}]}"
    {"v":null}
"metadata:\n  managedFields:\n  - fieldsV1:\n      v: "
    {"v":null}
"metadata: {managedFields: [{fieldsV1: {v: 1}}]}"
    {"v":1}
"metadata: {managedFields: [{fieldsV1: {v: 010}}]}"
    {"v":8}
"metadata: {managedFields: [{fieldsV1: {v: 08}}]}"
    {"v":8}
"metadata: {managedFields: [{fieldsV1: {v: 0x1F}}]}"
    {"v":31}
"metadata: {managedFields: [{fieldsV1: {v: 0b11}}]}"
    {"v":3}
"metadata: {managedFields: [{fieldsV1: {v: 0o17}}]}"
    {"v":15}
"metadata: {managedFields: [{fieldsV1: {v: 1_000}}]}"
    {"v":1000}
"metadata: {managedFields: [{fieldsV1: {v: +5}}]}"
    {"v":5}
"metadata: {managedFields: [{fieldsV1: {v: -7}}]}"
    {"v":-7}
"metadata: {managedFields: [{fieldsV1: {v: 1.5}}]}"
    {"v":1.5}
"metadata: {managedFields: [{fieldsV1: {v: 1e3}}]}"
    {"v":1000}
"metadata: {managedFields: [{fieldsV1: {v: .5}}]}"
    {"v":0.5}
"metadata: {managedFields: [{fieldsV1: {v: 1.}}]}"
    {"v":1}
"metadata: {managedFields: [{fieldsV1: {v: 2020-01-01}}]}"
    {"v":"2020-01-01"}
"metadata: {managedFields: [{fieldsV1: {v: 2020-01-01T00:00:00Z}}]}"
    {"v":"2020-01-01T00:00:00Z"}
"metadata: {managedFields: [{fieldsV1: {v: 12:30}}]}"
    {"v":"12:30"}
"metadata: {managedFields: [{fieldsV1: {v: 0x}}]}"
    {"v":"0x"}
"metadata: {managedFields: [{fieldsV1: {v: -0x10}}]}"
    {"v":-16}
"metadata: {managedFields: [{fieldsV1: {v: 18446744073709551615}}]}"
    {"v":18446744073709551615}
"metadata: {managedFields: [{fieldsV1: {v: 18446744073709551616}}]}"
    {"v":18446744073709552000}
"metadata: {managedFields: [{fieldsV1: {v: 1e400}}]}"
    {"v":"1e400"}
"metadata:\n  managedFields:\n  - fieldsV1:\n      v: \"yes\""
    {"v":"yes"}
"metadata: {managedFields: [{fieldsV1: {v: '1'}}]}"
    {"v":"1"}
"metadata: {managedFields: [{fieldsV1: {v: !!str 1}}]}"
    {"v":"1"}
"metadata: {managedFields: [{fieldsV1: {v: !!int \"3\"}}]}"
    {"v":3}
"metadata: {managedFields: [{fieldsV1: {v: !!float 3}}]}"
    {"v":3}
"metadata: {managedFields: [{fieldsV1: {v: !!int x}}]}"
    !yaml: cannot decode !!str `x` as a !!int
"metadata: {managedFields: [{fieldsV1: {v: !!binary YQ==}}]}"
    {"v":"a"}
"metadata: {managedFields: [{fieldsV1: {v: !!binary x}}]}"
    !yaml: !!binary value contains invalid base64 data
"metadata: {managedFields: [{fieldsV1: {v: !foo bar}}]}"
    {"v":"bar"}
"metadata: {managedFields: [{fieldsV1: {v: a b}}]}"
    {"v":"a b"}
"metadata:\n  managedFields:\n  - fieldsV1:\n      v: [1, two, {a: b}]"
    {"v":[1,"two",{"a":"b"}]}
"metadata: {managedFields: [{fieldsV1: {v: *x}}]}"
    !yaml: unknown anchor 'x' referenced
"metadata: {managedFields: [{fieldsV1: {v: 1e21}}]}"
    {"v":1e+21}
"metadata: {managedFields: [{fieldsV1: {v: 1.0}}]}"
    {"v":1}
"metadata: {managedFields: [{fieldsV1: {v: 0777}}]}"
    {"v":511}
"metadata: {managedFields: [{fieldsV1: {v: 09}}]}"
    {"v":9}
"metadata: {managedFields: [{fieldsV1: {v: .5e3}}]}"
    {"v":500}
"metadata: {managedFields: [{fieldsV1: {v: ..5}}]}"
    {"v":"..5"}
"metadata: {managedFields: [{fieldsV1: {v: .inf}}]}"
    !json: unsupported value: +Inf
"metadata: {managedFields: [{fieldsV1: {v: .nan}}]}"
    !json: unsupported value: NaN
"metadata:\n  managedFields:\n  - fieldsV1:\n      v: a: b: c"
    !yaml: line 4: mapping values are not allowed in this context
"metadata:\n  managedFields:\n  - fieldsV1:\n      v: \"abc"
    !yaml: line 4: found unexpected end of stream
"metadata:\n  managedFields:\n  - fieldsV1:\n      v: [a"
    !yaml: line 4: did not find expected ',' or ']'
"metadata:\n  managedFields:\n  - fieldsV1:\n      v: {a"
    !yaml: line 4: did not find expected ',' or '}'
"metadata: {managedFields: [{fieldsV1: {v: @a}}]}"
    !yaml: found character that cannot start any token
"metadata: {managedFields: [{fieldsV1: {v: %a}}]}"
    !yaml: found character that cannot start any token
"""
"""What a scalar is in YAML: the fieldsV1 of the first of the managed fields."""

YAML = r"""
"kind: ConfigMap\napiVersion: v1\na: 1\n---\nb: 2\n"
    {"strict":["unknown field \"a\""],"value":{"metadata":{}}}
"kind: ConfigMap\napiVersion: v1\nmetadata:\n  name: x\n  name: y\n  labels:\n    a: b\n    a: c\nfoo: 1\nfoo: 2\n"
    !json: cannot unmarshal bool into Go struct field ObjectMeta.metadata.name of type string
"kind: ConfigMap\napiVersion: v1\nx: &x {a: \"1\", b: \"2\"}\nmetadata:\n  labels:\n    <<: *x\n    a: \"3\"\n"
    {"strict":["yaml: unmarshal errors:\n  line 7: key \"a\" already set in map","unknown field \"x\""],"value":{"metadata":{"labels":{"a":"3","b":"2"}}}}
"kind: ConfigMap\napiVersion: v1\nmetadata: {labels: {a: \"3\", <<: {a: \"4\"}}}\n"
    {"strict":["yaml: unmarshal errors:\n  line 3: key \"a\" already set in map"],"value":{"metadata":{"labels":{"a":"4"}}}}
"kind: ConfigMap\napiVersion: v1\nmetadata: {labels: {<<: [{a: \"4\"},{a: \"5\", b: \"6\"}]}}\n"
    {"strict":["yaml: unmarshal errors:\n  line 3: key \"a\" already set in map"],"value":{"metadata":{"labels":{"a":"4","b":"6"}}}}
"kind: ConfigMap\napiVersion: v1\nmetadata: {labels: {<<: 3}}\n"
    !yaml: map merge requires map or sequence of maps as the value
"1: 2\n1: 3\n\"1\": 4\ntrue: x\n"
    {"strict":["yaml: unmarshal errors:\n  line 2: key 1 already set in map","unknown field \"1\"","unknown field \"true\""],"value":{"metadata":{}}}
"kind: ConfigMap\napiVersion: v1\na: *y\n"
    !yaml: unknown anchor 'y' referenced
"? [a]\n: b\n"
    !yaml: invalid map key: []interface {}{\"a\"}
"kind: ConfigMap\napiVersion: v1\na:\n  b: 1\n c: 2\n"
    !yaml: line 4: did not find expected key
"kind: ConfigMap\napiVersion: v1\na: 1\n\tb: 2\n"
    !yaml: line 4: found a tab character that violates indentation
"a: [\n"
    !yaml: line 1: did not find expected node content
"kind: ConfigMap\napiVersion: v1\na: \"x\n"
    !yaml: line 4: found unexpected end of stream
"kind: ConfigMap\napiVersion: v1\nkey: [a, b\nc: d\n"
    !yaml: line 3: did not find expected ',' or ']'
"kind: ConfigMap\napiVersion: v1\na: b\na\n"
    !yaml: line 5: could not find expected ':'
"- a\nb: c\n"
    !yaml: line 1: did not find expected '-' indicator
"{a: b c: d}"
    !yaml: did not find expected ',' or '}'
"kind: ConfigMap\napiVersion: v1\na: |x\n b\n"
    !yaml: line 3: did not find expected comment or line break
"kind: ConfigMap\napiVersion: v1\na: \"\\z\"\n"
    !yaml: line 3: found unknown escape character
"kind: ConfigMap\napiVersion: v1\nmetadata: {annotations: {b: 1, a: x}, labels: 3}\n"
    !json: cannot unmarshal number into Go struct field ObjectMeta.metadata.annotations of type string
"kind: ConfigMap\napiVersion: v1\ndata: {a: 1}\n"
    !json: cannot unmarshal number into Go struct field ConfigMap.data of type string
"- 1\n"
    !couldn't get version/kind; json parse error: json: cannot unmarshal array into Go value of type struct { APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }
"5"
    !couldn't get version/kind; json parse error: json: cannot unmarshal number into Go value of type struct { APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }
""
    {"metadata":{}}
"""
"""ConfigMaps in YAML."""

PROTOBUF = r"""
v1 Namespace azhzAAoPCgJ2MRIJTmFtZXNwYWNlEjgKHgoGdGVhbS1hEgAaACIAKgAyADgAQgBaBgoBYRIBYhIMCgprdWJlcm5ldGVzGggKBkFjdGl2ZRoAIgA=
    {"metadata":{"name":"team-a","labels":{"a":"b"}},"spec":{"finalizers":["kubernetes"]},"status":{"phase":"Active"}}
batch/v1 Job azhzAAoPCghiYXRjaC92MRIDSm9iEqgCChkKAWoSABoAIgAqADIAOABCCAil69zKBhAAEt4BCAAQAzK6AQoQCgASABoAIgAqADIAOABCABKlAQoQCgF2EgsSCQoAEgUKAzFHaRJwCgFjEgFpKgA6EgoBQRIAGgsaCQoECgJjbRIBa0IgCg0KA2NwdRIGCgQ1MDBtCg8KBm1lbW9yeRIFCgMxR2lSIAoUEhIKABIKCAEQABoEaHR0cBoAIgAQABgAIAUoADAAagByAIABAIgBAJABAKIBABoFTmV2ZXIyAEIASgBSAFgAYABoAIIBAIoBAJoBAMIBADgGUABaFwoVCgZJZ25vcmUSCxICSW4YARgCGIkBGioKIAoIQ29tcGxldGUSBFRydWUaACIICKXr3MoGEAAqADIAIAAoADAAOgAaACIA
    {"metadata":{"name":"j","creationTimestamp":"2026-01-02T03:04:05Z"},"spec":{"parallelism":0,"completions":3,"podFailurePolicy":{"rules":[{"action":"Ignore","onExitCodes":{"operator":"In","values":[1,2,137]}}]},"backoffLimit":6,"template":{"metadata":{},"spec":{"volumes":[{"name":"v","emptyDir":{"sizeLimit":"1Gi"}}],"containers":[{"name":"c","image":"i","env":[{"name":"A","valueFrom":{"configMapKeyRef":{"name":"cm","key":"k"}}}],"resources":{"limits":{"cpu":"500m","memory":"1Gi"}},"livenessProbe":{"httpGet":{"port":"http"},"periodSeconds":5}}],"restartPolicy":"Never"}},"suspend":false},"status":{"conditions":[{"type":"Complete","status":"True","lastProbeTime":null,"lastTransitionTime":"2026-01-02T03:04:05Z"}]}}
v1 ConfigMap azhzAAoPCgJ2MRIJQ29uZmlnTWFwEi4KEQoBYxIAGgAiACoAMgA4AEIAEgYKAWESAWISBQoBZRIAGggKAXgSAwAB/yABGgAiAA==
    {"metadata":{"name":"c"},"immutable":true,"data":{"a":"b","e":""},"binaryData":{"x":"AAH/"}}
v1 Secret azhzAAoMCgJ2MRIGU2VjcmV0EjIKEQoBcxIAGgAiACoAMgA4AEIAEgYKAWESAWESBQoBZRIAGgZPcGFxdWUiBgoBYhIBYxoAIgA=
    {"metadata":{"name":"s"},"data":{"a":"YQ==","e":""},"stringData":{"b":"c"},"type":"Opaque"}
scheduling.k8s.io/v1 PriorityClass azhzAAolChRzY2hlZHVsaW5nLms4cy5pby92MRINUHJpb3JpdHlDbGFzcxIqChEKAXASABoAIgAqADIAOABCABCY+P////////8BGAAiAWQqBU5ldmVyGgAiAA==
    {"metadata":{"name":"p"},"value":-1000,"description":"d","preemptionPolicy":"Never"}
authorization.k8s.io/v1 SelfSubjectAccessReview azhzAAoyChdhdXRob3JpemF0aW9uLms4cy5pby92MRIXU2VsZlN1YmplY3RBY2Nlc3NSZXZpZXcSNgoQCgASABoAIgAqADIAOABCABIYChYKAWESA2dldBoAIgAqBHBvZHMyADoAGggIABIAGgAgABoAIgA=
    {"metadata":{},"spec":{"resourceAttributes":{"namespace":"a","verb":"get","resource":"pods"}},"status":{"allowed":false}}
policy/v1 Eviction azhzAAoVCglwb2xpY3kvdjESCEV2aWN0aW9uEiIKEgoBcBIAGgFhIgAqADIAOABCABIMCAASAwoBdSoDQWxsGgAiAA==
    {"metadata":{"name":"p","namespace":"a"},"deleteOptions":{"gracePeriodSeconds":0,"preconditions":{"uid":"u"},"dryRun":["All"]}}
v1 DeleteOptions azhzAAoTCgJ2MRINRGVsZXRlT3B0aW9ucxIQCB4YACIKQmFja2dyb3VuZBoAIgA=
    {"gracePeriodSeconds":30,"orphanDependents":false,"propagationPolicy":"Background"}
coordination.k8s.io/v1 Lease azhzAAofChZjb29yZGluYXRpb24uazhzLmlvL3YxEgVMZWFzZRIlChEKAWwSABoAIgAqADIAOABCABIQCgFoEA8iCQil69zKBhDYNhoAIgA=
    {"metadata":{"name":"l"},"spec":{"holderIdentity":"h","leaseDurationSeconds":15,"renewTime":"2026-01-02T03:04:05.000007Z"}}
v1 Pod azhzAAoJCgJ2MRIDUG9kEqYBCj4KAXASABoAIgAqADIAOABCAIoBKgoBbRIGVXBkYXRlGgJ2MTIIRmllbGRzVjE6DQoLeyJmOmEiOiB7fX1CABJPEiYKAWMSACoAQgBqAHIAegsg////////////AYABAIgBAJABAKIBABoAMgBCAEoAUgBYAGAAaAByCSABIKwCIPCiBIIBAIoBAJoBAMIBABoTCgAaACIAKgAyAEoAWgByAIgBABoAIgA=
    {"metadata":{"name":"p","managedFields":[{"manager":"m","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:a":{}}}]},"spec":{"containers":[{"name":"c","resources":{},"securityContext":{"runAsUser":-1}}],"securityContext":{"supplementalGroups":[1,300,70000]}},"status":{}}
v1 Service azhzAAoNCgJ2MRIHU2VydmljZRJRChEKAXMSABoAIgAqADIAOABCABI4ChEKABIAGFAiBwgAEJA/GgAoAAoTCgASABhRIgkIARAAGgN3ZWIoABoAIgA6AEIAUgBaAGAAaAAaAgoAGgAiAA==
    {"metadata":{"name":"s"},"spec":{"ports":[{"port":80,"targetPort":8080},{"port":81,"targetPort":"web"}]},"status":{"loadBalancer":{}}}
"""
"""Bodies in protobuf, in base64."""

REFUSED = r"""
""
    !the object provided is unrecognized (must be of type Pod): couldn't get version/kind; json parse error: unexpected end of JSON input (<empty>)
" "
    !the object provided is unrecognized (must be of type Pod): couldn't get version/kind; json parse error: unexpected end of JSON input (20)
"{"
    !the object provided is unrecognized (must be of type Pod): couldn't get version/kind; json parse error: unexpected end of JSON input ({)
"{\"apiVersion\":\"v1\",\"kind\":\"Pod\",}"
    !the object provided is unrecognized (must be of type Pod): couldn't get version/kind; json parse error: invalid character '}' looking for beginning of object key string ({"apiVersion":"v1","kind":"Pod ...)
"nul"
    !the object provided is unrecognized (must be of type Pod): couldn't get version/kind; json parse error: invalid character ' ' in literal null (expecting 'l') (6e756c)
"[]"
    !the object provided is unrecognized (must be of type Pod): couldn't get version/kind; json parse error: json: cannot unmarshal array into Go value of type struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" } (5b5d)
"\"x\""
    !the object provided is unrecognized (must be of type Pod): couldn't get version/kind; json parse error: json: cannot unmarshal string into Go value of type struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" } (227822)
"3"
    !the object provided is unrecognized (must be of type Pod): couldn't get version/kind; json parse error: json: cannot unmarshal number into Go value of type struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" } (33)
"true"
    !the object provided is unrecognized (must be of type Pod): couldn't get version/kind; json parse error: json: cannot unmarshal bool into Go value of type struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" } (74727565)
"{\"kind\":3}"
    !the object provided is unrecognized (must be of type Pod): couldn't get version/kind; json parse error: json: cannot unmarshal number into Go struct field .kind of type string ({"kind":3})
"{\"kind\":\"Foo\"}"
    !Foo in version "v1" cannot be handled as a Pod: no kind "Foo" is registered for version "v1" in scheme "pkg/runtime/scheme.go:111"
"{\"kind\":\"Foo\",\"apiVersion\":\"v2\"}"
    !Foo in version "v2" cannot be handled as a Pod: no kind "Foo" is registered for version "v2" in scheme "pkg/runtime/scheme.go:111"
"{\"kind\":\"Pod\",\"apiVersion\":\"v2\"}"
    !Pod in version "v2" cannot be handled as a Pod: no kind "Pod" is registered for version "v2" in scheme "pkg/runtime/scheme.go:111"
"{\"kind\":\"Job\",\"apiVersion\":\"batch/v1\"}"
    !Job in version "v1" cannot be handled as a Pod: converting (v1.Job) to (core.Pod): unknown conversion
"{\"kind\":\"Pod\",\"apiVersion\":\"a/b/c\"}"
    !the object provided is unrecognized (must be of type Pod): unexpected GroupVersion string: a/b/c ({"kind":"Pod","apiVersion":"a/ ...)
"{\"kind\":\"Pod\",\"apiVersion\":\"batch/v1\"}"
    !Pod in version "v1" cannot be handled as a Pod: no kind "Pod" is registered for version "batch/v1" in scheme "pkg/runtime/scheme.go:111"
"{\"kind\":\"Node\",\"apiVersion\":\"v1\"}"
    !Node in version "v1" cannot be handled as a Pod: converting (v1.Node) to (core.Pod): unknown conversion
"{\"kind\":\"Node\",\"apiVersion\":\"v1\",\"spec\":3}"
    !Node in version "v1" cannot be handled as a Pod: json: cannot unmarshal number into Go struct field Node.spec of type v1.NodeSpec
"{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"spec\":{\"containers\":\"x\"}}"
    !Pod in version "v1" cannot be handled as a Pod: json: cannot unmarshal string into Go struct field PodSpec.spec.containers of type []v1.Container
"{\"apiVersion\":\"v1\",\"apiversion\":\"v2\",\"kind\":\"Pod\"}"
    !Pod in version "v2" cannot be handled as a Pod: no kind "Pod" is registered for version "v2" in scheme "pkg/runtime/scheme.go:111"
"{\"Kind\":\"Foo\"}"
    !Foo in version "v1" cannot be handled as a Pod: no kind "Foo" is registered for version "v1" in scheme "pkg/runtime/scheme.go:111"
"{\"kind\":\"Pod\",\"apiVersion\":\"batch/\"}"
    !Pod in version "" cannot be handled as a Pod: Object 'apiVersion' is missing in '{"kind":"Pod","apiVersion":"batch/"}'
"{\"kind\":\"Pod\",\"apiVersion\":\"v1/\"}"
    !Pod in version "" cannot be handled as a Pod: Object 'apiVersion' is missing in '{"kind":"Pod","apiVersion":"v1/"}'
"{\"kind\":{},\"apiVersion\":7}"
    !the object provided is unrecognized (must be of type Pod): couldn't get version/kind; json parse error: json: cannot unmarshal object into Go struct field .kind of type string ({"kind":{},"apiVersion":7})
"{\"kind\":\"PodList\",\"apiVersion\":\"v1\"}"
    !PodList in version "v1" cannot be handled as a Pod: converting (v1.PodList) to (core.Pod): unknown conversion
"{\"kind\":\"List\",\"apiVersion\":\"v1\"}"
    !List in version "v1" cannot be handled as a Pod: converting (v1.List) to (core.Pod): unknown conversion
"{\"kind\":\"Status\",\"apiVersion\":\"v1\"}"
    !Status in version "v1" cannot be handled as a Pod: converting (v1.Status) to (core.Pod): unknown conversion
"{\"kind\":\"DeleteOptions\",\"apiVersion\":\"v1\"}"
    !DeleteOptions in version "v1" cannot be handled as a Pod: converting (v1.DeleteOptions) to (core.Pod): unknown conversion
"{\"kind\":\"Deployment\",\"apiVersion\":\"apps/v1\"}"
    !Deployment in version "v1" cannot be handled as a Pod: converting (v1.Deployment) to (core.Pod): unknown conversion
"{\"kind\":\"CustomResourceDefinition\",\"apiVersion\":\"apiextensions.k8s.io/v1\"}"
    !CustomResourceDefinition in version "v1" cannot be handled as a Pod: no kind "CustomResourceDefinition" is registered for version "apiextensions.k8s.io/v1" in scheme "pkg/runtime/scheme.go:111"
"{\"kind\":\"Pod\",\"a\":\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\""
    !the object provided is unrecognized (must be of type Pod): couldn't get version/kind; json parse error: unexpected end of JSON input ({"kind":"Pod","a":"aaaaaaaaaaa ...)
"{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"foo\":1,\"spec\":{\"containers\":[{\"name\":\"c\",\"name\":\"d\",\"bar\":1}]}}"
    !Pod in version "v1" cannot be handled as a Pod: strict decoding error: unknown field "foo", duplicate field "spec.containers[0].name", unknown field "spec.containers[0].bar"
"""
"""Bodies that are no pods, with strict validation: the message of the 400."""

CUSTOM_SCHEMA = r"""
{"type":"object","properties":{"spec":{"type":"object","required":["name"],"properties":{"name":{"type":"string","maxLength":10,"minLength":2,"pattern":"^[a-z]+$"},"replicas":{"type":"integer","format":"int32","minimum":1,"maximum":10,"default":3},"big":{"type":"integer"},"big64":{"type":"integer","format":"int64"},"ratio":{"type":"number","minimum":0,"exclusiveMinimum":true,"maximum":1.5,"multipleOf":0.5},"fl":{"type":"number","format":"float"},"flag":{"type":"boolean"},"mode":{"type":"string","enum":["A","B",""]},"num":{"type":"integer","enum":[1,2]},"port":{"x-kubernetes-int-or-string":true},"tags":{"type":"array","minItems":1,"maxItems":3,"items":{"type":"string","maxLength":3},"x-kubernetes-list-type":"set"},"items":{"type":"array","items":{"type":"object","required":["key"],"properties":{"key":{"type":"string"},"value":{"type":"string","default":"dv"}}},
"x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["key"]},"multi":{"type":"array","items":{"type":"object","required":["a","b"],"properties":{"a":{"type":"string"},"b":{"type":"integer"},"c":{"type":"string"}}},
"x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["a","b"]},"labels":{"type":"object","additionalProperties":{"type":"string","maxLength":3},"maxProperties":2,"minProperties":1},"maps":{"type":"object","additionalProperties":{"type":"object","properties":{"x":{"type":"integer","default":7}}}},
"anymap":{"type":"object","additionalProperties":true},"free":{"type":"object","x-kubernetes-preserve-unknown-fields":true,"properties":{"known":{"type":"object","properties":{"z":{"type":"string"}}}}},
"any":{"x-kubernetes-preserve-unknown-fields":true},"maybe":{"type":"string","nullable":true},"maybedef":{"type":"string","nullable":true,"default":"q"},"template":{"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true},"tpl2":{"type":"object","x-kubernetes-embedded-resource":true,"properties":{"spec":{"type":"object","properties":{"x":{"type":"string"}}}}},
"when":{"type":"string","format":"date-time"},"day":{"type":"string","format":"date"},"ip":{"type":"string","format":"ipv4"},"ip6":{"type":"string","format":"ipv6"},"cidr":{"type":"string","format":"cidr"},"mac":{"type":"string","format":"mac"},"id":{"type":"string","format":"uuid"},"b":{"type":"string","format":"byte"},"dur":{"type":"string","format":"duration"},"uri":{"type":"string","format":"uri"},"mail":{"type":"string","format":"email"},"host":{"type":"string","format":"hostname"},"unk":{"type":"string","format":"foo"},"deep":{"type":"object","default":{},"properties":{"a":{"type":"object","default":{"b":1},"properties":{"b":{"type":"integer"},"c":{"type":"integer","default":5}}}}},
"one":{"type":"object","properties":{"x":{"type":"string"},"y":{"type":"string"}},
"oneOf":[{"required":["x"]},{"required":["y"]}]},"anyof":{"type":"object","properties":{"x":{"type":"string"},"y":{"type":"string"}},
"anyOf":[{"required":["x"]},{"required":["y"]}]},"allof":{"type":"object","properties":{"x":{"type":"integer"}},
"allOf":[{"properties":{"x":{"minimum":3}}},{"properties":{"x":{"maximum":5}}}]},"nott":{"type":"object","properties":{"x":{"type":"string"}},
"not":{"required":["x"]}},
"quant":{"anyOf":[{"type":"integer"},{"type":"string"}],"pattern":"^[0-9]+(m|Gi)?$","x-kubernetes-int-or-string":true},"list2":{"type":"array","items":{"type":"array","items":{"type":"integer"}}}}},
"status":{"type":"object","properties":{"phase":{"type":"string"}}}}}
"""
"""The schema of the definition that the objects of CUSTOM are of, in JSON."""

CUSTOM = r"""
{}
    {"causes":[["FieldValueRequired","spec.name","Required value"]],"strict":[]}
{"name":"ab"}
    {"spec":{"deep":{"a":{"b":1,"c":5}},"maybedef":"q","name":"ab","replicas":3},"strict":[]}
null
    {"spec":"<none>","strict":[]}
[]
    {"causes":[["FieldValueTypeInvalid","spec","Invalid value: \"array\": spec in body must be of type object: \"array\""]],"strict":[]}
"x"
    {"causes":[["FieldValueTypeInvalid","spec","Invalid value: \"string\": spec in body must be of type object: \"string\""]],"strict":[]}
{"name":3}
    {"causes":[["FieldValueTypeInvalid","spec.name","Invalid value: \"integer\": spec.name in body must be of type string: \"integer\""]],"strict":[]}
{"name":null}
    {"causes":[["FieldValueRequired","spec.name","Required value"]],"strict":[]}
{"name":"a"}
    {"causes":[["FieldValueInvalid","spec.name","Invalid value: \"a\": spec.name in body should be at least 2 chars long"]],"strict":[]}
{"name":"abcdefghijk"}
    {"causes":[["FieldValueTooLong","spec.name","Too long: may not be more than 10 bytes"]],"strict":[]}
{"name":"AB"}
    {"causes":[["FieldValueInvalid","spec.name","Invalid value: \"AB\": spec.name in body should match '^[a-z]+$'"]],"strict":[]}
{"name":"\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9"}
    {"causes":[["FieldValueTooLong","spec.name","Too long: may not be more than 10 bytes"]],"strict":[]}
{"name":"ab","replicas":"3"}
    {"causes":[["FieldValueTypeInvalid","spec.replicas","Invalid value: \"string\": spec.replicas in body must be of type integer: \"string\""]],"strict":[]}
{"name":"ab","replicas":0}
    {"causes":[["FieldValueInvalid","spec.replicas","Invalid value: 0: spec.replicas in body should be greater than or equal to 1"]],"strict":[]}
{"name":"ab","replicas":11}
    {"causes":[["FieldValueInvalid","spec.replicas","Invalid value: 11: spec.replicas in body should be less than or equal to 10"]],"strict":[]}
{"name":"ab","replicas":1.5}
    {"causes":[["FieldValueTypeInvalid","spec.replicas","Invalid value: \"float64\": spec.replicas in body must be of type int32: \"float64\""],["FieldValueInvalid","<nil>","Invalid value: \"\": Checked value must be of type integer with format int32 in spec.replicas"]],"strict":[]}
{"name":"ab","replicas":2.0}
    {"spec":{"deep":{"a":{"b":1,"c":5}},"maybedef":"q","name":"ab","replicas":2},"strict":[]}
{"name":"ab","replicas":3000000000}
    {"causes":[["FieldValueInvalid","<nil>","Invalid value: \"\": Checked value must be of type integer with format int32 in spec.replicas"],["FieldValueInvalid","spec.replicas","Invalid value: 3000000000: spec.replicas in body should be less than or equal to 10"]],"strict":[]}
{"name":"ab","replicas":null}
    {"spec":{"deep":{"a":{"b":1,"c":5}},"maybedef":"q","name":"ab","replicas":3},"strict":[]}
{"name":"ab","replicas":true}
    {"causes":[["FieldValueTypeInvalid","spec.replicas","Invalid value: \"\": spec.replicas in body must be of type int32: \"\""]],"strict":[]}
{"name":"ab","replicas":[]}
    {"causes":[["FieldValueTypeInvalid","spec.replicas","Invalid value: \"array\": spec.replicas in body must be of type integer: \"array\""]],"strict":[]}
{"name":"ab","replicas":{}}
    {"causes":[["FieldValueTypeInvalid","spec.replicas","Invalid value: \"\": spec.replicas in body must be of type int32: \"\""]],"strict":[]}
{"name":"ab","big":9223372036854775807}
    {"spec":{"big":9223372036854775807,"deep":{"a":{"b":1,"c":5}},"maybedef":"q","name":"ab","replicas":3},"strict":[]}
{"name":"ab","big":9223372036854775808}
    {"causes":[["FieldValueTypeInvalid","spec.big","Invalid value: \"number\": spec.big in body must be of type integer: \"number\""],["FieldValueInvalid","<nil>","Invalid value: \"\": Checked value must be of type integer (default format) in spec.big"]],"strict":[]}
{"name":"ab","big":1e+30}
    {"causes":[["FieldValueTypeInvalid","spec.big","Invalid value: \"number\": spec.big in body must be of type integer: \"number\""],["FieldValueInvalid","<nil>","Invalid value: \"\": Checked value must be of type integer (default format) in spec.big"]],"strict":[]}
{"name":"ab","big64":"x"}
    {"causes":[["FieldValueTypeInvalid","spec.big64","Invalid value: \"string\": spec.big64 in body must be of type integer: \"string\""]],"strict":[]}
{"name":"ab","big64":true}
    {"causes":[["FieldValueTypeInvalid","spec.big64","Invalid value: \"\": spec.big64 in body must be of type int64: \"\""]],"strict":[]}
{"name":"ab","big":1.0}
    {"spec":{"big":1,"deep":{"a":{"b":1,"c":5}},"maybedef":"q","name":"ab","replicas":3},"strict":[]}
{"name":"ab","big":1.25}
    {"causes":[["FieldValueTypeInvalid","spec.big","Invalid value: \"number\": spec.big in body must be of type integer: \"number\""],["FieldValueInvalid","<nil>","Invalid value: \"\": Checked value must be of type integer (default format) in spec.big"]],"strict":[]}
{"name":"ab","ratio":0}
    {"causes":[["FieldValueInvalid","spec.ratio","Invalid value: 0: factor MultipleOf declared for spec.ratio must be positive: 0"],["FieldValueInvalid","spec.ratio","Invalid value: 0: spec.ratio in body should be greater than 0"]],"strict":[]}
{"name":"ab","ratio":0.5}
    {"spec":{"deep":{"a":{"b":1,"c":5}},"maybedef":"q","name":"ab","ratio":0.5,"replicas":3},"strict":[]}
{"name":"ab","ratio":1}
    {"causes":[["FieldValueInvalid","spec.ratio","Invalid value: 0: factor MultipleOf declared for spec.ratio must be positive: 0"]],"strict":[]}
{"name":"ab","ratio":2}
    {"causes":[["FieldValueInvalid","spec.ratio","Invalid value: 0: factor MultipleOf declared for spec.ratio must be positive: 0"],["FieldValueInvalid","spec.ratio","Invalid value: 2: spec.ratio in body should be less than or equal to 1"]],"strict":[]}
{"name":"ab","ratio":0.7}
    {"causes":[["FieldValueInvalid","spec.ratio","Invalid value: 0.7: spec.ratio in body should be a multiple of 0.5"]],"strict":[]}
{"name":"ab","ratio":"x"}
    {"causes":[["FieldValueTypeInvalid","spec.ratio","Invalid value: \"string\": spec.ratio in body must be of type number: \"string\""]],"strict":[]}
{"name":"ab","ratio":-1.5}
    {"causes":[["FieldValueInvalid","spec.ratio","Invalid value: -1.5: spec.ratio in body should be greater than 0"]],"strict":[]}
{"name":"ab","fl":1e+300}
    {"causes":[["FieldValueInvalid","<nil>","Invalid value: \"\": Checked value must be of type number with format float in spec.fl"]],"strict":[]}
{"name":"ab","fl":1.5}
    {"spec":{"deep":{"a":{"b":1,"c":5}},"fl":1.5,"maybedef":"q","name":"ab","replicas":3},"strict":[]}
{"name":"ab","fl":3}
    {"spec":{"deep":{"a":{"b":1,"c":5}},"fl":3,"maybedef":"q","name":"ab","replicas":3},"strict":[]}
{"name":"ab","flag":"true"}
    {"causes":[["FieldValueTypeInvalid","spec.flag","Invalid value: \"string\": spec.flag in body must be of type boolean: \"string\""]],"strict":[]}
{"name":"ab","flag":1}
    {"causes":[["FieldValueTypeInvalid","spec.flag","Invalid value: \"integer\": spec.flag in body must be of type boolean: \"integer\""]],"strict":[]}
{"name":"ab","flag":true}
    {"spec":{"deep":{"a":{"b":1,"c":5}},"flag":true,"maybedef":"q","name":"ab","replicas":3},"strict":[]}
{"name":"ab","mode":"C"}
    {"causes":[["FieldValueNotSupported","spec.mode","Unsupported value: \"C\": supported values: \"A\", \"B\", \"\""]],"strict":[]}
{"name":"ab","mode":""}
    {"spec":{"deep":{"a":{"b":1,"c":5}},"maybedef":"q","mode":"","name":"ab","replicas":3},"strict":[]}
{"name":"ab","mode":3}
    {"causes":[["FieldValueTypeInvalid","spec.mode","Invalid value: \"integer\": spec.mode in body must be of type string: \"integer\""],["FieldValueNotSupported","spec.mode","Unsupported value: 3: supported values: \"A\", \"B\", \"\""]],"strict":[]}
{"name":"ab","num":3}
    {"causes":[["FieldValueNotSupported","spec.num","Unsupported value: 3: supported values: \"1\", \"2\""]],"strict":[]}
{"name":"ab","num":1}
    {"spec":{"deep":{"a":{"b":1,"c":5}},"maybedef":"q","name":"ab","num":1,"replicas":3},"strict":[]}
{"name":"ab","num":2.0}
    {"spec":{"deep":{"a":{"b":1,"c":5}},"maybedef":"q","name":"ab","num":2,"replicas":3},"strict":[]}
{"name":"ab","num":"1"}
    {"causes":[["FieldValueTypeInvalid","spec.num","Invalid value: \"string\": spec.num in body must be of type integer: \"string\""],["FieldValueNotSupported","spec.num","Unsupported value: \"1\": supported values: \"1\", \"2\""]],"strict":[]}
{"name":"ab","port":80}
    {"spec":{"deep":{"a":{"b":1,"c":5}},"maybedef":"q","name":"ab","port":80,"replicas":3},"strict":[]}
{"name":"ab","port":"http"}
    {"spec":{"deep":{"a":{"b":1,"c":5}},"maybedef":"q","name":"ab","port":"http","replicas":3},"strict":[]}
{"name":"ab","port":true}
    {"causes":[["FieldValueTypeInvalid","spec.port","Invalid value: \"boolean\": spec.port in body must be of type integer,string: \"boolean\""]],"strict":[]}
{"name":"ab","port":1.5}
    {"causes":[["FieldValueTypeInvalid","spec.port","Invalid value: \"number\": spec.port in body must be of type integer,string: \"number\""]],"strict":[]}
{"name":"ab","port":{}}
    {"causes":[["FieldValueTypeInvalid","spec.port","Invalid value: \"object\": spec.port in body must be of type integer,string: \"object\""]],"strict":[]}
{"name":"ab","port":null}
    {"spec":{"deep":{"a":{"b":1,"c":5}},"maybedef":"q","name":"ab","replicas":3},"strict":[]}
{"name":"ab","tags":[]}
    {"causes":[["FieldValueInvalid","spec.tags","Invalid value: 0: spec.tags in body should have at least 1 items"]],"strict":[]}
{"name":"ab","tags":["a","a"]}
    {"causes":[["FieldValueDuplicate","spec.tags[1]","Duplicate value: \"a\""]],"strict":[]}
{"name":"ab","tags":["a","b","c","d"]}
    {"causes":[["FieldValueTooMany","spec.tags","Too many: 4: must have at most 3 items"]],"strict":[]}
{"name":"ab","tags":["abcd"]}
    {"causes":[["FieldValueTooLong","spec.tags[0]","Too long: may not be more than 3 bytes"]],"strict":[]}
{"name":"ab","tags":[1]}
    {"causes":[["FieldValueTypeInvalid","spec.tags[0]","Invalid value: \"integer\": spec.tags[0] in body must be of type string: \"integer\""]],"strict":[]}
{"name":"ab","tags":"x"}
    {"causes":[["FieldValueTypeInvalid","spec.tags","Invalid value: \"string\": spec.tags in body must be of type array: \"string\""]],"strict":[]}
{"name":"ab","tags":[null]}
    {"causes":[["FieldValueTypeInvalid","spec.tags[0]","Invalid value: \"null\": spec.tags[0] in body must be of type string: \"null\""]],"strict":[]}
{"name":"ab","tags":["a","b","a","a","b"]}
    {"causes":[["FieldValueTooMany","spec.tags","Too many: 5: must have at most 3 items"],["FieldValueDuplicate","spec.tags[2]","Duplicate value: \"a\""],["FieldValueDuplicate","spec.tags[4]","Duplicate value: \"b\""]],"strict":[]}
{"name":"ab","items":[{"key":"a"},{"key":"b","value":"x","extra":1}]}
    {"spec":{"deep":{"a":{"b":1,"c":5}},"items":[{"key":"a","value":"dv"},{"key":"b","value":"x"}],"maybedef":"q","name":"ab","replicas":3},"strict":["unknown field \"spec.items[1].extra\""]}
{"name":"ab","items":[{"key":"a"},{"key":"a"}]}
    {"causes":[["FieldValueDuplicate","spec.items[1]","Duplicate value: {\"key\":\"a\"}"]],"strict":[]}
{"name":"ab","items":[{}]}
    {"causes":[["FieldValueRequired","spec.items[0].key","Required value"]],"strict":[]}
{"name":"ab","items":[{},{}]}
    {"causes":[["FieldValueRequired","spec.items[0].key","Required value"],["FieldValueRequired","spec.items[1].key","Required value"],["FieldValueDuplicate","spec.items[1]","Duplicate value: {}"]],"strict":[]}
{"name":"ab","items":["x"]}
    {"causes":[["FieldValueTypeInvalid","spec.items[0]","Invalid value: \"string\": spec.items[0] in body must be of type object: \"string\""],["FieldValueInvalid","spec.items[0]","Invalid value: \"x\": must be an object for an array of list-type map"]],"strict":[]}
{"name":"ab","items":[null]}
    {"causes":[["FieldValueTypeInvalid","spec.items[0]","Invalid value: \"null\": spec.items[0] in body must be of type object: \"null\""]],"strict":[]}
{"name":"ab","items":[{"key":1}]}
    {"causes":[["FieldValueTypeInvalid","spec.items[0].key","Invalid value: \"integer\": spec.items[0].key in body must be of type string: \"integer\""]],"strict":[]}
{"name":"ab","multi":[{"a":"x","b":1},{"a":"x","b":1,"c":"z"}]}
    {"causes":[["FieldValueDuplicate","spec.multi[1]","Duplicate value: {\"a\":\"x\",\"b\":1}"]],"strict":[]}
{"name":"ab","multi":[{"a":"x","b":1},{"a":"x","b":2}]}
    {"spec":{"deep":{"a":{"b":1,"c":5}},"maybedef":"q","multi":[{"a":"x","b":1},{"a":"x","b":2}],"name":"ab","replicas":3},"strict":[]}
{"name":"ab","labels":{}}
    {"causes":[["FieldValueInvalid","spec.labels","Invalid value: 0: spec.labels in body should have at least 1 properties"]],"strict":[]}
{"name":"ab","labels":{"a":"b"}}
    {"spec":{"deep":{"a":{"b":1,"c":5}},"labels":{"a":"b"},"maybedef":"q","name":"ab","replicas":3},"strict":[]}
{"name":"ab","labels":{"a":"b","c":"d","e":"f"}}
    {"causes":[["FieldValueTooMany","spec.labels","Too many: 3: must have at most 2 items"]],"strict":[]}
{"name":"ab","labels":{"a":1}}
    {"causes":[["FieldValueTypeInvalid","spec.labels.a","Invalid value: \"integer\": spec.labels.a in body must be of type string: \"integer\""]],"strict":[]}
{"name":"ab","labels":{"a":"abcd"}}
    {"causes":[["FieldValueTooLong","spec.labels.a","Too long: may not be more than 3 bytes"]],"strict":[]}
{"name":"ab","labels":{"a":null}}
    {"causes":[["FieldValueInvalid","spec.labels","Invalid value: 0: spec.labels in body should have at least 1 properties"]],"strict":[]}
{"name":"ab","labels":[]}
    {"causes":[["FieldValueTypeInvalid","spec.labels","Invalid value: \"array\": spec.labels in body must be of type object: \"array\""]],"strict":[]}
{"name":"ab","maps":{"k":{}}}
    {"spec":{"deep":{"a":{"b":1,"c":5}},"maps":{"k":{"x":7}},"maybedef":"q","name":"ab","replicas":3},"strict":[]}
{"name":"ab","maps":{"k":{"x":"s","y":1}}}
    {"causes":[["FieldValueTypeInvalid","spec.maps.k.x","Invalid value: \"string\": spec.maps.k.x in body must be of type integer: \"string\""]],"strict":["unknown field \"spec.maps.k.y\""]}
{"name":"ab","maps":{"k":null}}
    {"spec":{"deep":{"a":{"b":1,"c":5}},"maps":{},"maybedef":"q","name":"ab","replicas":3},"strict":[]}
{"name":"ab","anymap":{"a":1,"b":{"c":1},"d":[{"e":1}]}}
    {"spec":{"anymap":{"a":1,"b":{},"d":[{}]},"deep":{"a":{"b":1,"c":5}},"maybedef":"q","name":"ab","replicas":3},"strict":["unknown field \"spec.anymap.b.c\"","unknown field \"spec.anymap.d[0].e\""]}
{"name":"ab","free":{"x":1,"y":{"z":[1]},"known":{"z":"a","q":1}}}
    {"spec":{"deep":{"a":{"b":1,"c":5}},"free":{"known":{"z":"a"},"x":1,"y":{"z":[1]}},"maybedef":"q","name":"ab","replicas":3},"strict":["unknown field \"spec.free.known.q\""]}
{"name":"ab","any":[1,{"a":null}]}
    {"spec":{"any":[1,{"a":null}],"deep":{"a":{"b":1,"c":5}},"maybedef":"q","name":"ab","replicas":3},"strict":[]}
{"name":"ab","any":"x"}
    {"spec":{"any":"x","deep":{"a":{"b":1,"c":5}},"maybedef":"q","name":"ab","replicas":3},"strict":[]}
{"name":"ab","any":null}
    {"spec":{"deep":{"a":{"b":1,"c":5}},"maybedef":"q","name":"ab","replicas":3},"strict":[]}
{"name":"ab","maybe":null}
    {"spec":{"deep":{"a":{"b":1,"c":5}},"maybe":null,"maybedef":"q","name":"ab","replicas":3},"strict":[]}
{"name":"ab","maybe":"x"}
    {"spec":{"deep":{"a":{"b":1,"c":5}},"maybe":"x","maybedef":"q","name":"ab","replicas":3},"strict":[]}
{"name":"ab","maybe":3}
    {"causes":[["FieldValueTypeInvalid","spec.maybe","Invalid value: \"integer\": spec.maybe in body must be of type string: \"integer\""]],"strict":[]}
{"name":"ab","maybedef":null}
    {"spec":{"deep":{"a":{"b":1,"c":5}},"maybedef":null,"name":"ab","replicas":3},"strict":[]}
{"name":"ab","template":{}}
    {"causes":[["FieldValueRequired","spec.template.apiVersion","Required value"],["FieldValueRequired","spec.template.kind","Required value"]],"strict":[]}
{"name":"ab","template":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x","foo":1},"spec":{"a":1}}}
    {"spec":{"deep":{"a":{"b":1,"c":5}},"maybedef":"q","name":"ab","replicas":3,"template":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"a":1}}},"strict":["unknown field \"spec.template.metadata.foo\""]}
{"name":"ab","template":{"apiVersion":"v1","kind":"Pod","metadata":{"labels":{"a":1}}}}
    !Thing in version "v1" cannot be handled as a Thing: spec.template.metadata: Invalid value: {"labels":{"a":1}}: json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string
{"name":"ab","template":{"apiVersion":1,"kind":"Pod"}}
    !Thing in version "v1" cannot be handled as a Thing: spec.template.apiVersion: Invalid value: 1: must be a string
{"name":"ab","template":{"apiVersion":"v1","kind":"P_d"}}
    {"causes":[["FieldValueInvalid","spec.template.kind","Invalid value: \"P_d\": may have mixed case, but should otherwise match: a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"]],"strict":[]}
{"name":"ab","template":{"apiVersion":"","kind":""}}
    {"causes":[["FieldValueInvalid","spec.template.kind","Invalid value: \"\": must not be empty"],["FieldValueInvalid","spec.template.apiVersion","Invalid value: \"\": must not be empty"]],"strict":[]}
{"name":"ab","template":{"apiVersion":"a/b/c","kind":"X"}}
    {"causes":[["FieldValueInvalid","spec.template.apiVersion","Invalid value: \"a/b/c\": unexpected GroupVersion string: a/b/c"]],"strict":[]}
{"name":"ab","tpl2":{"apiVersion":"v1","kind":"X","spec":{"x":"a","y":1},"foo":1}}
    {"spec":{"deep":{"a":{"b":1,"c":5}},"maybedef":"q","name":"ab","replicas":3,"tpl2":{"apiVersion":"v1","kind":"X","spec":{"x":"a"}}},"strict":["unknown field \"spec.tpl2.foo\"","unknown field \"spec.tpl2.spec.y\""]}
{"name":"ab","template":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a/b"}}}
    {"causes":[["FieldValueInvalid","spec.template.metadata.name","Invalid value: \"a/b\": may not contain '/'"]],"strict":[]}
{"name":"ab","when":"2020-01-01T00:00:00Z"}
    {"spec":{"deep":{"a":{"b":1,"c":5}},"maybedef":"q","name":"ab","replicas":3,"when":"2020-01-01T00:00:00Z"},"strict":[]}
{"name":"ab","when":"x"}
    {"causes":[["FieldValueTypeInvalid","spec.when","Invalid value: \"x\": spec.when in body must be of type date-time: \"x\""]],"strict":[]}
{"name":"ab","when":3}
    {"causes":[["FieldValueTypeInvalid","spec.when","Invalid value: \"int64\": spec.when in body must be of type date-time: \"int64\""]],"strict":[]}
{"name":"ab","when":[]}
    {"spec":{"deep":{"a":{"b":1,"c":5}},"maybedef":"q","name":"ab","replicas":3,"when":[]},"strict":[]}
{"name":"ab","when":"2020-01-01"}
    {"causes":[["FieldValueTypeInvalid","spec.when","Invalid value: \"2020-01-01\": spec.when in body must be of type date-time: \"2020-01-01\""]],"strict":[]}
{"name":"ab","day":"2020-01-01"}
    {"spec":{"day":"2020-01-01","deep":{"a":{"b":1,"c":5}},"maybedef":"q","name":"ab","replicas":3},"strict":[]}
{"name":"ab","day":"2020-1-1"}
    {"causes":[["FieldValueTypeInvalid","spec.day","Invalid value: \"2020-1-1\": spec.day in body must be of type date: \"2020-1-1\""]],"strict":[]}
{"name":"ab","ip":"1.2.3.4"}
    {"spec":{"deep":{"a":{"b":1,"c":5}},"ip":"1.2.3.4","maybedef":"q","name":"ab","replicas":3},"strict":[]}
{"name":"ab","ip":"1.2.3"}
    {"causes":[["FieldValueTypeInvalid","spec.ip","Invalid value: \"1.2.3\": spec.ip in body must be of type ipv4: \"1.2.3\""]],"strict":[]}
{"name":"ab","ip":"::1"}
    {"causes":[["FieldValueTypeInvalid","spec.ip","Invalid value: \"::1\": spec.ip in body must be of type ipv4: \"::1\""]],"strict":[]}
{"name":"ab","ip6":"::1"}
    {"spec":{"deep":{"a":{"b":1,"c":5}},"ip6":"::1","maybedef":"q","name":"ab","replicas":3},"strict":[]}
{"name":"ab","ip6":"1.2.3.4"}
    {"causes":[["FieldValueTypeInvalid","spec.ip6","Invalid value: \"1.2.3.4\": spec.ip6 in body must be of type ipv6: \"1.2.3.4\""]],"strict":[]}
{"name":"ab","cidr":"10.0.0.0/8"}
    {"spec":{"cidr":"10.0.0.0/8","deep":{"a":{"b":1,"c":5}},"maybedef":"q","name":"ab","replicas":3},"strict":[]}
{"name":"ab","cidr":"10.0.0.0"}
    {"causes":[["FieldValueTypeInvalid","spec.cidr","Invalid value: \"10.0.0.0\": spec.cidr in body must be of type cidr: \"10.0.0.0\""]],"strict":[]}
{"name":"ab","mac":"01:23:45:67:89:ab"}
    {"spec":{"deep":{"a":{"b":1,"c":5}},"mac":"01:23:45:67:89:ab","maybedef":"q","name":"ab","replicas":3},"strict":[]}
{"name":"ab","mac":"x"}
    {"causes":[["FieldValueTypeInvalid","spec.mac","Invalid value: \"x\": spec.mac in body must be of type mac: \"x\""]],"strict":[]}
{"name":"ab","id":"123e4567-e89b-12d3-a456-426614174000"}
    {"spec":{"deep":{"a":{"b":1,"c":5}},"id":"123e4567-e89b-12d3-a456-426614174000","maybedef":"q","name":"ab","replicas":3},"strict":[]}
{"name":"ab","id":"x"}
    {"causes":[["FieldValueTypeInvalid","spec.id","Invalid value: \"x\": spec.id in body must be of type uuid: \"x\""]],"strict":[]}
{"name":"ab","b":"YQ=="}
    {"spec":{"b":"YQ==","deep":{"a":{"b":1,"c":5}},"maybedef":"q","name":"ab","replicas":3},"strict":[]}
{"name":"ab","b":"*"}
    {"causes":[["FieldValueTypeInvalid","spec.b","Invalid value: \"*\": spec.b in body must be of type byte: \"*\""]],"strict":[]}
{"name":"ab","unk":"whatever"}
    {"spec":{"deep":{"a":{"b":1,"c":5}},"maybedef":"q","name":"ab","replicas":3,"unk":"whatever"},"strict":[]}
{"name":"ab","deep":{"a":{}}}
    {"spec":{"deep":{"a":{"c":5}},"maybedef":"q","name":"ab","replicas":3},"strict":[]}
{"name":"ab","deep":{"a":null}}
    {"spec":{"deep":{"a":{"b":1,"c":5}},"maybedef":"q","name":"ab","replicas":3},"strict":[]}
{"name":"ab","deep":null}
    {"spec":{"deep":{"a":{"b":1,"c":5}},"maybedef":"q","name":"ab","replicas":3},"strict":[]}
{"name":"ab","one":{}}
    {"causes":[["FieldValueInvalid","<nil>","Invalid value: \"\": \"spec.one\" must validate one and only one schema (oneOf). Found none valid"],["FieldValueRequired","spec.one.x","Required value"]],"strict":[]}
{"name":"ab","one":{"x":"a"}}
    {"spec":{"deep":{"a":{"b":1,"c":5}},"maybedef":"q","name":"ab","one":{"x":"a"},"replicas":3},"strict":[]}
{"name":"ab","one":{"x":"a","y":"b"}}
    {"causes":[["FieldValueInvalid","<nil>","Invalid value: \"\": \"spec.one\" must validate one and only one schema (oneOf). Found 2 valid alternatives"]],"strict":[]}
{"name":"ab","anyof":{}}
    {"causes":[["FieldValueInvalid","<nil>","Invalid value: \"\": \"spec.anyof\" must validate at least one schema (anyOf)"],["FieldValueRequired","spec.anyof.x","Required value"]],"strict":[]}
{"name":"ab","anyof":{"y":"b"}}
    {"spec":{"anyof":{"y":"b"},"deep":{"a":{"b":1,"c":5}},"maybedef":"q","name":"ab","replicas":3},"strict":[]}
{"name":"ab","allof":{"x":1}}
    {"causes":[["FieldValueInvalid","spec.allof.x","Invalid value: 1: spec.allof.x in body should be greater than or equal to 3"],["FieldValueInvalid","<nil>","Invalid value: \"\": \"spec.allof\" must validate all the schemas (allOf)"]],"strict":[]}
{"name":"ab","allof":{"x":9}}
    {"causes":[["FieldValueInvalid","spec.allof.x","Invalid value: 9: spec.allof.x in body should be less than or equal to 5"],["FieldValueInvalid","<nil>","Invalid value: \"\": \"spec.allof\" must validate all the schemas (allOf)"]],"strict":[]}
{"name":"ab","allof":{"x":4}}
    {"spec":{"allof":{"x":4},"deep":{"a":{"b":1,"c":5}},"maybedef":"q","name":"ab","replicas":3},"strict":[]}
{"name":"ab","nott":{"x":"a"}}
    {"causes":[["FieldValueInvalid","<nil>","Invalid value: \"\": \"spec.nott\" must not validate the schema (not)"]],"strict":[]}
{"name":"ab","nott":{}}
    {"spec":{"deep":{"a":{"b":1,"c":5}},"maybedef":"q","name":"ab","nott":{},"replicas":3},"strict":[]}
{"name":"ab","quant":"5Gi"}
    {"spec":{"deep":{"a":{"b":1,"c":5}},"maybedef":"q","name":"ab","quant":"5Gi","replicas":3},"strict":[]}
{"name":"ab","quant":"x"}
    {"causes":[["FieldValueInvalid","spec.quant","Invalid value: \"x\": spec.quant in body should match '^[0-9]+(m|Gi)?$'"]],"strict":[]}
{"name":"ab","quant":5}
    {"spec":{"deep":{"a":{"b":1,"c":5}},"maybedef":"q","name":"ab","quant":5,"replicas":3},"strict":[]}
{"name":"ab","quant":true}
    {"causes":[["FieldValueTypeInvalid","spec.quant","Invalid value: \"boolean\": spec.quant in body must be of type integer,string: \"boolean\""],["FieldValueInvalid","<nil>","Invalid value: \"\": \"spec.quant\" must validate at least one schema (anyOf)"],["FieldValueTypeInvalid","spec.quant","Invalid value: \"boolean\": spec.quant in body must be of type integer: \"boolean\""]],"strict":[]}
{"name":"ab","list2":[[1],["x"]]}
    {"causes":[["FieldValueTypeInvalid","spec.list2[1][0]","Invalid value: \"string\": spec.list2[1][0] in body must be of type integer: \"string\""]],"strict":[]}
{"name":"ab","list2":[1]}
    {"causes":[["FieldValueTypeInvalid","spec.list2[0]","Invalid value: \"integer\": spec.list2[0] in body must be of type array: \"integer\""]],"strict":[]}
{"name":"ab","unknown":1,"deep":{"zz":{"y":1}}}
    {"spec":{"deep":{"a":{"b":1,"c":5}},"maybedef":"q","name":"ab","replicas":3},"strict":["unknown field \"spec.deep.zz\"","unknown field \"spec.unknown\""]}
{"name":"ab","items":[{"key":"a","zz":1}],"maps":{"k":{"zz":1}}}
    {"spec":{"deep":{"a":{"b":1,"c":5}},"items":[{"key":"a","value":"dv"}],"maps":{"k":{"x":7}},"maybedef":"q","name":"ab","replicas":3},"strict":["unknown field \"spec.items[0].zz\"","unknown field \"spec.maps.k.zz\""]}
"""
"""The spec of an object of a custom kind: what it becomes, or the causes of its refusal, in any order; and what strict validation names."""
