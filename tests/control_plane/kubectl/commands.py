"""What people type: chapters of commands, each told in a namespace of its own, on both servers the same.

Only what the servers themselves do: in these chapters nobody runs controllers, kubelets or a scheduler.
"""

CHAPTERS = {
    "making and reading pods": """
        create -f pod.yaml
        create -f pod.yaml
        create -f pod-invalid.yaml
        create -f pod-unknown-field.yaml
        create -f pod-unknown-field.yaml --validate=warn
        create -f pod-wrong-type.yaml
        create -f pod-wrong-type.yaml --validate=ignore
        create -f nowhere.yaml
        create -f kustomized/kustomization.yaml
        get pods
        get pods -o wide
        get pods --show-labels
        get pods -L app
        get pods -o name
        get pods -o yaml
        get pod web -o yaml
        get pod web -o json
        get pod web -o yaml --show-managed-fields
        get pods -o jsonpath={.items[*].metadata.name}
        get pods -o custom-columns=NAME:.metadata.name,IMAGES:.spec.containers[*].image
        get pods -o go-template='{{range .items}}{{.metadata.name}} {{end}}'
        get pods -l app=web
        get pods -l 'app in (web,db),tier!=back'
        get pods -l 'app in web'
        get pods -l app=nobody
        get pods --field-selector status.phase=Pending
        get pods --field-selector status.phase=Running
        get pods --field-selector spec.colour=red
        get pods --sort-by=.metadata.name
        get pods --chunk-size=1 -o name
        get pods -A --field-selector metadata.name=web -o name
        get pod nobody
        get pod nobody --ignore-not-found
        get pod web nobody
        get po/web cm/nothing
        get pods.v1
        get pods.v2
        get nothing
        get pods,configmaps
        get -f pod.yaml
        get all
        describe pod web
        describe pod nobody
        describe pods -l app=web
        logs web -c main
        logs web -c other
        logs nobody
        logs -l app=nobody
        wait --for=condition=Ready pod/web --timeout=1s
        wait --for=jsonpath={.status.phase}=Pending pod/web --timeout=5s
        wait --for=condition=Ready pod/nobody --timeout=1s
        wait --for=delete pod/nobody --timeout=5s
        exec web -c main -- ls
        run quick --image=nginx
        run quick --image=nginx
        run other --image=nginx --restart=Never --labels=a=b --env=MODE=slow --port=80 --dry-run=server -o yaml
        get pod quick -o yaml
        events
        events --for pod/web
        top pods
    """,
    "making and reading the rest": """
        create configmap settings --from-literal=a=b
        create configmap settings --from-literal=a=b
        create configmap file --from-file=pod.yaml --dry-run=server -o yaml
        get cm settings -o yaml
        describe cm settings
        create secret generic hush --from-literal=key=value
        create secret docker-registry pull --docker-server=x --docker-username=u --docker-password=p
        get secrets
        get secret hush -o yaml
        describe secret hush
        create priorityclass kubectl-high --value=1000 --description=first
        create priorityclass kubectl-high --value=1000
        create priorityclass kubectl-too-high --value=2000000000
        get priorityclass kubectl-high
        describe priorityclass kubectl-high
        delete priorityclass kubectl-high
        delete priorityclass system-node-critical
        create job sums --image=busybox -- sleep 5
        create job sums --image=busybox -- sleep 5
        get jobs -o wide
        get job sums -o yaml
        describe job sums
        scale job sums --replicas=2
        rollout status job/sums
        rollout history job/sums
        create -f job.yaml
        create -f job.yaml --dry-run=server -o yaml
        create serviceaccount worker
        get sa worker -o yaml
        describe sa worker
        create pdb keep --selector=app=web --min-available=1
        get pdb
        describe pdb keep
        create service clusterip front --tcp=80:80
        get service front -o jsonpath={.spec.type}
        delete service front
        create -f group.yaml
        get podgroups
        get podgroups -o wide
        get podgroup train -o yaml
        patch podgroup train --type=merge -p '{"spec":{"schedulingPolicy":{"gang":{"minCount":-1}}}}'
        patch podgroup train --type=merge -p '{"spec":{"schedulingPolicy":{"gang":{"minCount":5}}}}'
        create -f composite.yaml
        create -f composite.yaml
        get compositepodgroups
        get compositepodgroups -o wide
        get compositepodgroup whole -o yaml
        describe compositepodgroup whole
        patch compositepodgroup whole --type=merge -p '{"spec":{"schedulingPolicy":{"gang":{"minGroupCount":3}}}}'
        patch compositepodgroup whole --type=merge -p '{"spec":{"workloadRef":null}}'
        create -f part.yaml
        get podgroup part -o yaml
        describe podgroup part
        create -f workload.yaml
        get workloads
        get workload work -o yaml
        create -f several.yaml
        get cm,secret,sa -l set=several -o name
        delete -f several.yaml
        create -k kustomized
        apply -k kustomized
        get cm -o name
        delete -k kustomized
        create namespace Bad_Name
        create namespace default
        create clusterrole --verb=get
    """,
    "applying": """
        apply -f settings.yaml
        apply -f settings.yaml
        get cm settings -o yaml --show-managed-fields
        apply -f settings-later.yaml
        apply view-last-applied cm settings
        apply -f settings-later.yaml --server-side
        apply -f settings-later.yaml --server-side --force-conflicts
        get cm settings -o yaml
        apply -f settings.yaml --server-side --field-manager=another
        apply -f settings.yaml --server-side --field-manager=another --force-conflicts
        get cm settings -o yaml
        apply -f settings.yaml --dry-run=server
        apply -f settings.yaml --dry-run=client
        apply -f settings.yaml --prune
        apply -f applied.yaml --server-side
        apply -f applied-later.yaml --server-side --field-manager=another
        apply -f applied-later.yaml
        get pod applied -o yaml
        apply -f pod-invalid.yaml
        apply -f pod-invalid.yaml --server-side
        apply -f pod-unknown-field.yaml
        apply -f pod-unknown-field.yaml --server-side
        apply -f several.yaml
        apply -f several.yaml --server-side
        diff -f settings-later.yaml
        diff -f settings.yaml
        diff -f pod.yaml
        diff -f settings-later.yaml --server-side --field-manager=another
    """,
    "changing": """
        create -f pod.yaml
        create -f settings.yaml
        label pod web colour=red
        label pod web colour=blue
        label pod web colour=blue --overwrite
        label pod web colour-
        label pod web 'no key=1'
        label pods --all set=all
        label pods -l app=web set=web --overwrite
        label pod nobody a=b
        annotate pod web note='hello world'
        annotate pod web note-
        annotate cm settings a=b --resource-version=1
        patch cm settings -p '{"data":{"first":"7"}}'
        patch cm settings --type=merge -p '{"data":{"first":null}}'
        patch cm settings --type=json -p '[{"op":"add","path":"/data/third","value":"9"}]'
        patch cm settings --type=json -p '[{"op":"test","path":"/data/third","value":"8"}]'
        patch cm settings --type=json -p '[{"op":"remove","path":"/data/nothing"}]'
        patch cm settings --type=json -p 'nonsense'
        patch cm settings -p '{"data":{"first":7}}'
        patch cm settings -p '{"dat":{"first":"7"}}'
        patch cm nothing -p '{"data":{"first":"7"}}'
        patch pod web -p '{"spec":{"containers":[{"name":"main","image":"nginx:9"}]}}'
        patch pod web --type=merge -p '{"spec":{"containers":[{"name":"main","image":"nginx:9"}]}}'
        patch pod web -p '{"spec":{"nodeName":"other"}}'
        patch pod web --subresource=status --type=merge -p '{"status":{"phase":"Running"}}'
        patch -f pod.yaml -p '{"metadata":{"labels":{"by":"file"}}}'
        set image pod/web main=nginx:10
        set env pod/web MODE=other
        get pod web -o yaml
        get cm settings -o yaml
        replace -f settings-later.yaml
        replace -f settings-stale.yaml
        replace -f pod-invalid.yaml
        replace -f applied.yaml
        replace --force -f settings.yaml
        KUBE_EDITOR='sed -i s/\\"2\\"/\\"22\\"/' edit cm settings
        KUBE_EDITOR='sed -i s/none/none/' edit cm settings
        KUBE_EDITOR='sed -i s/first:/1st:/' edit cm settings -o json
        get cm settings -o yaml
    """,
    "nodes": """
        create -f node.yaml
        get nodes
        get node extra -o wide
        get node extra -o yaml
        describe node extra
        taint node extra key=value:NoSchedule
        taint node extra key=value:NoSchedule
        taint node extra key=other:NoSchedule
        taint node extra key=other:NoSchedule --overwrite
        taint node extra key=other:Never
        taint node extra key:NoSchedule-
        taint node extra key:NoSchedule-
        cordon extra
        cordon extra
        get node extra
        uncordon extra
        uncordon extra
        drain extra
        drain nowhere
        label node extra node-role.kubernetes.io/worker=
        get nodes -l pool=a
        get nodes --field-selector spec.unschedulable=true
        top nodes
        delete node extra
        get nodes
    """,
    "kinds of one's own": """
        apply -f gauge.yaml
        apply -f gauge.yaml --server-side
        create -f gauge.yaml
        get gauges
        explain gauges
        apply -f definition.yaml
        wait --for=condition=Established crd/gauges.kubectl.muster.dev --timeout=60s
        get crd gauges.kubectl.muster.dev
        apply -f gauge.yaml
        apply -f gauge-later.yaml
        get gauge oil -o yaml
        diff -f gauge.yaml
        apply -f gauge.yaml --dry-run=server -o yaml
        apply -f gauge.yaml
        apply -f gauge.yaml
        get gauges
        get gauges -o wide
        get gg oil -o yaml
        get gauges -A
        get gauges --field-selector metadata.name=oil
        get gauges --field-selector spec.size=1
        patch gauge oil --type=merge -p '{"spec":{"size":0}}'
        patch gauge oil --type=merge -p '{"spec":{"size":"big"}}'
        patch gauge oil --type=merge -p '{"spec":{"colour":"green"}}'
        patch gauge oil -p '{"spec":{"size":4}}'
        patch gauge oil --type=merge -p '{"spec":{"size":5,"weight":1}}'
        patch gauge oil --type=merge --subresource=status -p '{"status":{"size":5}}'
        get gauge oil -o yaml
        get gauge oil --subresource=status
        replace --subresource=status -f gauge-status.yaml
        apply -f gauge.yaml --server-side
        apply -f gauge.yaml --server-side --force-conflicts
        get gauge oil -o yaml
        scale gauge oil --replicas=7
        scale gauge oil --replicas=8 --current-replicas=3
        scale gauge oil --replicas=8 --current-replicas=7
        scale gauge oil --replicas=0
        scale gauge water --replicas=1
        get gauge oil --subresource=scale
        get gauge oil --subresource=scale -o yaml
        scale gauge oil --replicas=3
        get gauge oil -o yaml
        label gauge oil a=b
        get gauges -l a=b
        diff -f gauge.yaml
        explain gauges.spec
        explain gauges.spec.size
        explain gauges.spec.weight
        delete gauge oil
        delete -f definition.yaml
        get gauges
    """,
    "deleting": """
        create -f pod.yaml
        create -f settings.yaml
        create -f several.yaml
        delete pod nobody
        delete pod nobody --ignore-not-found
        delete pod web --dry-run=server
        delete pod web --dry-run=client
        get pod web
        delete pod web --grace-period=1 --wait=false
        get pods
        delete pods
        delete pods -l app=nobody
        run quick --image=nginx
        delete pod quick --grace-period=0
        delete pod quick --grace-period=0 --force
        delete cm -l set=several
        delete cm,secret --all
        delete sa three
        create -f job.yaml
        delete job sums --cascade=orphan --wait=false
        get job sums -o jsonpath={.metadata.finalizers}
        patch job sums --type=merge -p '{"metadata":{"finalizers":null}}'
        get jobs
        create -f group.yaml
        delete podgroup train --wait=false
        get podgroup train -o jsonpath={.metadata.finalizers}
        patch podgroup train --type=merge -p '{"metadata":{"finalizers":null}}'
        wait --for=delete podgroup/train --timeout=10s
        delete namespace nowhere
        delete namespace kube-system
        delete nothing all
    """,
    "asking": """
        auth can-i create pods
        auth can-i create nothings
        auth can-i * *
        auth can-i list pods -q
        auth can-i get /healthz
        cluster-info
        explain nothing
        explain pods.nothing
        explain pods.spec.containers.nothing
        api-resources --api-group=events.k8s.io
        api-resources --api-group=coordination.k8s.io --sort-by=kind -o name --verbs=watch
        api-resources --api-group=policy -o wide
        rollout restart pod/web
        autoscale pod web --max=2
        certificate approve
        get --raw /healthz
        get --raw /nowhere
        get --raw /apis/nowhere/v1
        get --raw /api/v1/namespaces/nowhere/pods/nobody
        create --raw /api/v1/namespaces/default/configmaps -f pod.yaml
        delete --raw /api/v1/namespaces/default/configmaps/nothing
    """,
}
"""Commands by chapter, one a line; they are told in order."""

FIELDS = (
    "explain pods",
    "explain pods.spec",
    "explain pods.spec.containers",
    "explain pods.spec.containers.resources --recursive",
    "explain pods.spec.affinity --recursive",
    "explain pods.status.conditions",
    "explain jobs.spec",
    "explain jobs.spec.template.spec.volumes",
    "explain podgroups.spec",
    "explain podgroups.spec.schedulingPolicy --recursive",
    "explain podgroups.status --recursive",
    "explain compositepodgroups",
    "explain compositepodgroups.spec --recursive",
    "explain compositepodgroups.status --recursive",
    "explain workloads.spec --recursive",
    "explain nodes.status",
    "explain configmaps",
    "explain priorityclasses",
    "explain poddisruptionbudgets.spec",
    "explain leases.spec",
    "explain events",
    "explain customresourcedefinitions.spec.versions",
)
"""Of these the names and types of fields are compared: the embedded server keeps no prose."""
