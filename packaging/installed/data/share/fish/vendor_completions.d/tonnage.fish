complete -c tonnage -n __fish_use_subcommand -l version -d 'print the version'
complete -c tonnage -f -n __fish_use_subcommand -a probe -d 'find the load line of a storage'
complete -c tonnage -f -n __fish_use_subcommand -a run -d 'carry out a campaign file, or resume a run'
complete -c tonnage -f -n __fish_use_subcommand -a example -d 'print a campaign to begin with'
complete -c tonnage -f -n __fish_use_subcommand -a import -d 'take over what another tool measured'
complete -c tonnage -f -n __fish_use_subcommand -a clean -d 'remove what killed runs left behind: scratch directories, or objects and snapshots of a pool'
complete -c tonnage -f -n __fish_use_subcommand -a report -d 'write the report of a run'
complete -c tonnage -f -n __fish_use_subcommand -a compare -d 'tell whether a system is faster or slower than another, by their runs'
complete -c tonnage -f -n __fish_use_subcommand -a history -d 'tell when runs became faster or slower, and what changed then'
complete -c tonnage -f -n __fish_use_subcommand -a crossover -d 'tell from how many nodes on which of two tiers wins'
complete -c tonnage -f -n __fish_use_subcommand -a project -d 'tell what to expect at a size that was not measured'
complete -c tonnage -f -n __fish_use_subcommand -a explain -d 'print what a finding means, or a page of the documentation'
complete -c tonnage -f -n __fish_use_subcommand -a verify -d 'recompute every figure of a run from its raw records'
complete -c tonnage -f -n __fish_use_subcommand -a serve -d 'show runs, file servers and drains on a live page'
complete -c tonnage -f -n __fish_use_subcommand -a submit -d 'run a job where its data lives, and no more at once than the storage carries'
complete -c tonnage -f -n __fish_use_subcommand -a where -d 'say which servers hold a path, and which hosts are beside them'
complete -c tonnage -f -n __fish_use_subcommand -a load -d 'show how busy each file server is, and its head-room to the load line'
complete -c tonnage -f -n __fish_use_subcommand -a watch -d 'note when a file server\'s load passes its load line, since when, and whose jobs are there'
complete -c tonnage -f -n __fish_use_subcommand -a jobs -d 'list jobs, and where they run'
complete -c tonnage -f -n __fish_use_subcommand -a cancel -d 'cancel jobs of yours, waiting or running'
complete -c tonnage -f -n __fish_use_subcommand -a queues -d 'list queues, their hosts and jobs'
complete -c tonnage -f -n __fish_use_subcommand -a doctor -d 'check the site file against the world, or hosts that are to measure together'
complete -c tonnage -f -n __fish_use_subcommand -a stage -d 'move files off node-local storage in the background, and lose none'
complete -c tonnage -f -n __fish_use_subcommand -a completions -d 'print completions for a shell'
complete -c tonnage -f -n __fish_use_subcommand -a schema -d 'print the JSON schema of an output or a file'
complete -c tonnage -f -n __fish_use_subcommand -a ior -d 'IOR\'s command lines, measured here'
complete -c tonnage -f -n __fish_use_subcommand -a mdtest -d 'mdtest\'s command lines, measured here'
complete -c tonnage -f -n __fish_use_subcommand -a sob -d 'sob\'s command lines, measured here'
complete -c tonnage -f -n __fish_use_subcommand -a spectral_wait -d 'Spectral\'s wait, for scripts that call it'
complete -c tonnage -f -n __fish_use_subcommand -a iobsub -d 'iobsub\'s command lines: a job goes to the server that holds the working directory'
complete -c tonnage -f -n __fish_use_subcommand -a lsload -d 'LSF\'s load table, of file servers'
complete -c tonnage -f -n __fish_use_subcommand -a bjobs -d 'LSF\'s list of jobs, of any scheduler'
complete -c tonnage -f -n __fish_use_subcommand -a bkill -d 'LSF\'s end of jobs, of any scheduler'
complete -c tonnage -f -n __fish_use_subcommand -a bqueues -d 'LSF\'s list of queues, of any scheduler'
complete -c tonnage -f -n __fish_use_subcommand -a bhosts -d 'LSF\'s list of batch hosts, of any scheduler'
complete -c tonnage -f -n __fish_use_subcommand -a compat -d 'put executables named after the originals into a directory'
complete -c tonnage -f -n '__fish_seen_subcommand_from stage; and not __fish_seen_subcommand_from run start status wait stop limit verify resume in list' -a run -d 'run a program, stage what it writes, end when all of it is safe'
complete -c tonnage -f -n '__fish_seen_subcommand_from stage; and not __fish_seen_subcommand_from run start status wait stop limit verify resume in list' -a start -d 'start a mover in the background'
complete -c tonnage -f -n '__fish_seen_subcommand_from stage; and not __fish_seen_subcommand_from run start status wait stop limit verify resume in list' -a status -d 'say where a mover stands'
complete -c tonnage -f -n '__fish_seen_subcommand_from stage; and not __fish_seen_subcommand_from run start status wait stop limit verify resume in list' -a wait -d 'wait until everything written so far is safe'
complete -c tonnage -f -n '__fish_seen_subcommand_from stage; and not __fish_seen_subcommand_from run start status wait stop limit verify resume in list' -a stop -d 'end a mover'
complete -c tonnage -f -n '__fish_seen_subcommand_from stage; and not __fish_seen_subcommand_from run start status wait stop limit verify resume in list' -a limit -d 'change a mover\'s bounds while it runs'
complete -c tonnage -f -n '__fish_seen_subcommand_from stage; and not __fish_seen_subcommand_from run start status wait stop limit verify resume in list' -a verify -d 'compare a destination with its manifests'
complete -c tonnage -f -n '__fish_seen_subcommand_from stage; and not __fish_seen_subcommand_from run start status wait stop limit verify resume in list' -a resume -d 'go on where a mover ended'
complete -c tonnage -f -n '__fish_seen_subcommand_from stage; and not __fish_seen_subcommand_from run start status wait stop limit verify resume in list' -a in -d 'copy inputs to node-local storage before a run'
complete -c tonnage -f -n '__fish_seen_subcommand_from stage; and not __fish_seen_subcommand_from run start status wait stop limit verify resume in list' -a list -d 'list the movers of this host'
complete -c tonnage -n '__fish_seen_subcommand_from probe' -l op -d 'operations, in this order' -r
complete -c tonnage -n '__fish_seen_subcommand_from probe' -l transfer -d 'bytes of one operation' -r
complete -c tonnage -n '__fish_seen_subcommand_from probe' -l max-tasks -d 'largest number of tasks tried' -r
complete -c tonnage -n '__fish_seen_subcommand_from probe' -l budget -d 'time for the whole search' -r
complete -c tonnage -n '__fish_seen_subcommand_from probe' -l p99 -d 'also find the largest number of tasks whose p99 latency stays within TIME' -r
complete -c tonnage -n '__fish_seen_subcommand_from probe' -l p999 -d 'the same for p99.9; both may be given' -r
complete -c tonnage -n '__fish_seen_subcommand_from probe' -l open-loop -d 'with --p99 or --p999: find the largest offered rate instead, latency counted from the intended start'
complete -c tonnage -n '__fish_seen_subcommand_from probe' -l seed -d 'seed of payloads and orders' -r
complete -c tonnage -n '__fish_seen_subcommand_from probe' -l direct -d 'past the page cache, through it, or past it where the file system can' -x -a 'auto yes no'
complete -c tonnage -n '__fish_seen_subcommand_from probe' -l storage -d 'how bytes are touched' -x -a 'posix uring mmap'
complete -c tonnage -n '__fish_seen_subcommand_from probe' -l access -d 'order in which a task visits its transfers' -x -a 'sequential strided random'
complete -c tonnage -n '__fish_seen_subcommand_from probe' -l queue-depth -d 'operations in flight in each task; above 1 needs --storage uring' -r
complete -c tonnage -n '__fish_seen_subcommand_from probe' -l space -d 'bytes of files at once' -r
complete -c tonnage -n '__fish_seen_subcommand_from probe' -l verify -d 'check every byte that is read'
complete -c tonnage -n '__fish_seen_subcommand_from probe' -l out -d 'run directory to make' -r
complete -c tonnage -n '__fish_seen_subcommand_from probe' -l json -d 'print one JSON object on stdout and nothing else there'
complete -c tonnage -n '__fish_seen_subcommand_from probe' -s v -l verbose -d 'print all tables and findings, also where a screen tells what a search found'
complete -c tonnage -n '__fish_seen_subcommand_from probe' -l no-report -d 'do not write report.html'
complete -c tonnage -n '__fish_seen_subcommand_from probe' -l no-keep -d 'do not keep the load line that a search finds for placement'
complete -c tonnage -n '__fish_seen_subcommand_from run' -l resume -d 'go on with a run that was interrupted, probes included' -r
complete -c tonnage -n '__fish_seen_subcommand_from run' -l target -d 'measure this directory (or null:, memory:, sim:…) instead of the file\'s' -r
complete -c tonnage -n '__fish_seen_subcommand_from run' -l scale -d 'multiply the work of every workload (block sizes, files, copies), never its tasks' -r
complete -c tonnage -n '__fish_seen_subcommand_from run' -l only -d 'of several [[workload]] tables this one; may be given again' -r
complete -c tonnage -n '__fish_seen_subcommand_from run' -l without -d 'all but this one; may be given again' -r
complete -c tonnage -n '__fish_seen_subcommand_from run' -l on -d 'submit it to this scheduler, in jobs, and stay until it is done; local: this host, in the background' -x -a 'auto slurm lsf pbs flux local'
complete -c tonnage -n '__fish_seen_subcommand_from run' -l partition -d 'partition or queue of workloads that name none' -r
complete -c tonnage -n '__fish_seen_subcommand_from run' -l nodes -d 'nodes of each job whose workload names no hosts' -r
complete -c tonnage -n '__fish_seen_subcommand_from run' -l tasks-per-node -d 'tasks on each node before the next one takes any, threads of one process' -r
complete -c tonnage -n '__fish_seen_subcommand_from run' -l time-limit -d 'the scheduler ends a job after so long' -r
complete -c tonnage -n '__fish_seen_subcommand_from run' -l mpi -d 'how processes of a job find each other; none: one process' -x -a 'pmix pmi2 none'
complete -c tonnage -n '__fish_seen_subcommand_from run' -l account -d 'what jobs are charged to' -r
complete -c tonnage -n '__fish_seen_subcommand_from run' -l detach -d 'submit, and do not stay; --resume takes the run up'
complete -c tonnage -n '__fish_seen_subcommand_from run' -l dry-run -d 'print the plan and the time and space it takes; write nothing'
complete -c tonnage -n '__fish_seen_subcommand_from run' -l out -d 'run directory to make' -r
complete -c tonnage -n '__fish_seen_subcommand_from run' -l json -d 'print one JSON object on stdout and nothing else there'
complete -c tonnage -n '__fish_seen_subcommand_from run' -s v -l verbose -d 'print all tables and findings, also where a screen tells what a search found'
complete -c tonnage -n '__fish_seen_subcommand_from run' -l no-report -d 'do not write report.html'
complete -c tonnage -n '__fish_seen_subcommand_from run' -l no-keep -d 'do not keep the load line that a search finds for placement'
complete -c tonnage -n '__fish_seen_subcommand_from example' -l out -d 'write it to this file, which must not be there yet' -r
complete -c tonnage -n '__fish_seen_subcommand_from import' -f -a 'ior ior-operations mdtest fio fio-text fio-terse fio-log elbencho iperf3 iperf3-text iozone sob rados nextflow'
complete -c tonnage -n '__fish_seen_subcommand_from import' -l factor -d 'what the files do not state, as snapshot=yes; with a pattern before it of the files whose names fit: snap-*:snapshot=yes. May be repeated; of one name the last one that fits counts' -r
complete -c tonnage -n '__fish_seen_subcommand_from import' -l link -d 'rate of the link between the hosts and the storage, in bits or bytes: what is above it is told' -r
complete -c tonnage -n '__fish_seen_subcommand_from import' -l out -d 'run directory to make' -r
complete -c tonnage -n '__fish_seen_subcommand_from import' -l json -d 'print one JSON object on stdout and nothing else there'
complete -c tonnage -n '__fish_seen_subcommand_from import' -l no-report -d 'do not write report.html'
complete -c tonnage -n '__fish_seen_subcommand_from clean' -l yes -d 'do not ask'
complete -c tonnage -n '__fish_seen_subcommand_from clean' -l force -d 'also remove what is of a run that cannot be proved to have ended: you have seen that it is over'
complete -c tonnage -n '__fish_seen_subcommand_from clean' -l kept -d 'also remove directories that runs left on purpose to later ones, such as those of mdtest -C'
complete -c tonnage -n '__fish_seen_subcommand_from report' -l storage -d 'of one storage instead: its name as `tonnage history` tells it, a directory of it, or auto where all runs are of one' -r
complete -c tonnage -n '__fish_seen_subcommand_from report' -l out -d 'also write a page with the picture' -r
complete -c tonnage -n '__fish_seen_subcommand_from report' -l json -d 'print one JSON object on stdout and nothing else there'
complete -c tonnage -n '__fish_seen_subcommand_from report' -s v -l verbose -d 'print all tables and findings, also where a screen tells what a search found'
complete -c tonnage -n '__fish_seen_subcommand_from compare' -l of -d 'what verdicts are of: of the system, or of these two runs alone, which says nothing of another day' -x -a 'system runs'
complete -c tonnage -n '__fish_seen_subcommand_from compare' -l threshold -d 'least change of a throughput that is called one' -r
complete -c tonnage -n '__fish_seen_subcommand_from compare' -l per -d 'divide rates by disks, servers, nodes or links: as [normalise] of the runs\' campaigns says (disk), or one for each side (disk=60,84; link=1Gbit/s,10Gbit/s)' -r
complete -c tonnage -n '__fish_seen_subcommand_from compare' -l fail-if -d 'exit with 1 where a setting has this verdict or failed on the newer side; with 2 where none can have any, or the workloads are unlike' -x -a 'slower faster changed'
complete -c tonnage -n '__fish_seen_subcommand_from compare' -l out -d 'also write a page with a forest plot' -r
complete -c tonnage -n '__fish_seen_subcommand_from compare' -l json -d 'print one JSON object on stdout and nothing else there'
complete -c tonnage -n '__fish_seen_subcommand_from history' -l servers -d 'of file servers instead, from what `tonnage watch` kept: when each was above its load line, whose jobs were there, and what it carried when'
complete -c tonnage -n '__fish_seen_subcommand_from history' -l since -d 'with --servers: from a date on, or so long ago' -r
complete -c tonnage -n '__fish_seen_subcommand_from history' -l threshold -d 'least change of a throughput that is called one' -r
complete -c tonnage -n '__fish_seen_subcommand_from history' -l per -d 'divide rates by disks, servers, nodes or links: as [normalise] of each run\'s campaign says (disk), or one for each DIR, for all runs in it (disk=60,84; link=10Gbit/s)' -r
complete -c tonnage -n '__fish_seen_subcommand_from history' -l fail-if -d 'exit with 1 where the newest change of a setting has this verdict, or its newest run failed; with 2 where none can have any' -x -a 'slower faster changed'
complete -c tonnage -n '__fish_seen_subcommand_from history' -l out -d 'also write a page with the picture' -r
complete -c tonnage -n '__fish_seen_subcommand_from history' -l site -d 'read this site file and no other' -r
complete -c tonnage -n '__fish_seen_subcommand_from history' -l json -d 'print one JSON object on stdout and nothing else there'
complete -c tonnage -n '__fish_seen_subcommand_from crossover' -l op -d 'only these of write, read, open-write-close' -r
complete -c tonnage -n '__fish_seen_subcommand_from crossover' -l nodes -d 'also tell which wins at this many nodes' -r
complete -c tonnage -n '__fish_seen_subcommand_from crossover' -l shared -d 'which of A and B all nodes share, where the records do not tell' -r
complete -c tonnage -n '__fish_seen_subcommand_from crossover' -l per-node -d 'state the rate of one node on the tier of its own' -r
complete -c tonnage -n '__fish_seen_subcommand_from crossover' -l ceiling -d 'state what the shared tier does not exceed' -r
complete -c tonnage -n '__fish_seen_subcommand_from crossover' -l per -d 'also divide the rates: by what each node has of its own and what all share, one for A and one for B (disk=2,600; link=25Gbit/s,400Gbit/s), or as [normalise] of their campaigns says (disk)' -r
complete -c tonnage -n '__fish_seen_subcommand_from crossover' -l out -d 'also write a page with the picture' -r
complete -c tonnage -n '__fish_seen_subcommand_from crossover' -l json -d 'print one JSON object on stdout and nothing else there'
complete -c tonnage -n '__fish_seen_subcommand_from project' -l tasks -d 'tasks in all' -r
complete -c tonnage -n '__fish_seen_subcommand_from project' -l nodes -d 'nodes that they run on' -r
complete -c tonnage -n '__fish_seen_subcommand_from project' -l op -d 'only these operations' -r
complete -c tonnage -n '__fish_seen_subcommand_from project' -l per -d 'also divide by so many of a thing, such as disk=10' -r
complete -c tonnage -n '__fish_seen_subcommand_from project' -l link -d 'what the link of each node carries, such as 10Gbit/s: a ceiling' -r
complete -c tonnage -n '__fish_seen_subcommand_from project' -l out -d 'also write a page with the picture' -r
complete -c tonnage -n '__fish_seen_subcommand_from project' -l json -d 'print one JSON object on stdout and nothing else there'
complete -c tonnage -n '__fish_seen_subcommand_from verify' -l json -d 'print one JSON object on stdout and nothing else there'
complete -c tonnage -n '__fish_seen_subcommand_from serve' -l port -d 'where to listen, 0 for any free port' -r
complete -c tonnage -n '__fish_seen_subcommand_from serve' -l host -d 'address or name to listen on; one that other hosts reach asks viewers for a token, which is in the printed address' -r
complete -c tonnage -n '__fish_seen_subcommand_from serve' -l token -d 'ask for a token on this host too, where other users could look'
complete -c tonnage -n '__fish_seen_subcommand_from serve' -l certificate -d 'serve https (TLS 1.2 or newer) with this certificate (PEM)' -r
complete -c tonnage -n '__fish_seen_subcommand_from serve' -l key -d 'the certificate\'s private key (PEM, without a password), which others may not read' -r
complete -c tonnage -n '__fish_seen_subcommand_from serve' -l site -d 'read this site file and no other' -r
complete -c tonnage -n '__fish_seen_subcommand_from submit' -s q -l queue -d 'queue or partition' -r
complete -c tonnage -n '__fish_seen_subcommand_from submit' -s I -l interactive -d 'wait for it, with this terminal\'s input, output and signals'
complete -c tonnage -n '__fish_seen_subcommand_from submit' -s K -l wait -d 'stay until it has ended, all copies, and exit with the worst status'
complete -c tonnage -n '__fish_seen_subcommand_from submit' -s o -l output -d 'file of its output; %J: job, %I: copy' -r
complete -c tonnage -n '__fish_seen_subcommand_from submit' -s e -l error -d 'file of its errors' -r
complete -c tonnage -n '__fish_seen_subcommand_from submit' -s n -l tasks -d 'slots it takes' -r
complete -c tonnage -n '__fish_seen_subcommand_from submit' -s J -l name -d 'name of the job' -r
complete -c tonnage -n '__fish_seen_subcommand_from submit' -l input -d 'file of its standard input' -r
complete -c tonnage -n '__fish_seen_subcommand_from submit' -l time-limit -d 'the scheduler ends it after so long' -r
complete -c tonnage -n '__fish_seen_subcommand_from submit' -l account -d 'what it is charged to' -r
complete -c tonnage -n '__fish_seen_subcommand_from submit' -l memory -d 'it has so much on its host, and no more' -r
complete -c tonnage -n '__fish_seen_subcommand_from submit' -l gpus -d 'it has so many on its host' -r
complete -c tonnage -n '__fish_seen_subcommand_from submit' -l dependency -d 'it begins after other jobs: afterok:JOB,afterany:JOB, with afternotok and after (it began) too; with ? in the place of the comma one is enough' -r
complete -c tonnage -n '__fish_seen_subcommand_from submit' -l mail -d 'the scheduler writes when it begins, ends or fails' -r
complete -c tonnage -n '__fish_seen_subcommand_from submit' -l mail-to -d 'to whom' -r
complete -c tonnage -n '__fish_seen_subcommand_from submit' -l exclusive -d 'no other job runs on its host meanwhile'
complete -c tonnage -n '__fish_seen_subcommand_from submit' -l scheduler-options -d 'options of the scheduler\'s own command (sbatch, bsub, qsub, flux submit), split as a shell does' -r
complete -c tonnage -n '__fish_seen_subcommand_from submit' -l copies -d 'run so many of it, or these; TONNAGE_COPY has its number' -r
complete -c tonnage -n '__fish_seen_subcommand_from submit' -l cap -d 'copies that run at once: a number, or the load line' -r
complete -c tonnage -n '__fish_seen_subcommand_from submit' -l path -d 'go by the data of PATH' -r
complete -c tonnage -n '__fish_seen_subcommand_from submit' -l profile -d 'run directory that measured the program, for what a copy asks of the line' -r
complete -c tonnage -n '__fish_seen_subcommand_from submit' -l io-share -d 'share of its time alone in which it waits for storage' -r
complete -c tonnage -n '__fish_seen_subcommand_from submit' -l anywhere -d 'go on where nobody knows the file server, or nothing beside it takes the job'
complete -c tonnage -n '__fish_seen_subcommand_from submit' -l key -d 'name of this submission: the same one is never submitted twice' -r
complete -c tonnage -n '__fish_seen_subcommand_from submit' -l dry-run -d 'print the decision and the command; submit nothing'
complete -c tonnage -n '__fish_seen_subcommand_from submit' -l scheduler -d 'which one' -x -a 'auto slurm lsf pbs flux local'
complete -c tonnage -n '__fish_seen_subcommand_from submit' -l local-wait -d 'longest expected wait for a slot beside the data' -r
complete -c tonnage -n '__fish_seen_subcommand_from submit' -l site -d 'read this site file and no other' -r
complete -c tonnage -n '__fish_seen_subcommand_from submit' -l json -d 'print one JSON object on stdout and nothing else there'
complete -c tonnage -n '__fish_seen_subcommand_from where' -l site -d 'read this site file and no other' -r
complete -c tonnage -n '__fish_seen_subcommand_from where' -l json -d 'print one JSON object on stdout and nothing else there'
complete -c tonnage -n '__fish_seen_subcommand_from load' -l watch -d 'go on, in place'
complete -c tonnage -n '__fish_seen_subcommand_from load' -l every -d 'how often to look, with --watch or --metrics' -r
complete -c tonnage -n '__fish_seen_subcommand_from load' -l metrics -d 'serve the figures to Prometheus on 127.0.0.1:PORT, 0 for any' -r
complete -c tonnage -n '__fish_seen_subcommand_from load' -l site -d 'read this site file and no other' -r
complete -c tonnage -n '__fish_seen_subcommand_from load' -l json -d 'print one JSON object on stdout and nothing else there'
complete -c tonnage -n '__fish_seen_subcommand_from watch' -l every -d 'how often to look' -r
complete -c tonnage -n '__fish_seen_subcommand_from watch' -l metrics -d 'serve the figures to Prometheus on 127.0.0.1:PORT, 0 for any' -r
complete -c tonnage -n '__fish_seen_subcommand_from watch' -l once -d 'look once, say of each server what is so, and keep nothing'
complete -c tonnage -n '__fish_seen_subcommand_from watch' -l site -d 'read this site file and no other' -r
complete -c tonnage -n '__fish_seen_subcommand_from watch' -l json -d 'print one JSON object a line for each event, and nothing else on stdout'
complete -c tonnage -n '__fish_seen_subcommand_from jobs' -s d -l done -d 'also those that ended lately'
complete -c tonnage -n '__fish_seen_subcommand_from jobs' -s u -l user -d 'of this user, or all' -r
complete -c tonnage -n '__fish_seen_subcommand_from jobs' -l scheduler -d 'which one' -x -a 'auto slurm lsf pbs flux local'
complete -c tonnage -n '__fish_seen_subcommand_from jobs' -l site -d 'read this site file and no other' -r
complete -c tonnage -n '__fish_seen_subcommand_from jobs' -l json -d 'print one JSON object on stdout and nothing else there'
complete -c tonnage -n '__fish_seen_subcommand_from cancel' -l any -d 'also jobs of yours that Tonnage did not submit'
complete -c tonnage -n '__fish_seen_subcommand_from cancel' -l scheduler -d 'which one' -x -a 'auto slurm lsf pbs flux local'
complete -c tonnage -n '__fish_seen_subcommand_from cancel' -l site -d 'read this site file and no other' -r
complete -c tonnage -n '__fish_seen_subcommand_from cancel' -l json -d 'print one JSON object on stdout and nothing else there'
complete -c tonnage -n '__fish_seen_subcommand_from queues' -l scheduler -d 'which one' -x -a 'auto slurm lsf pbs flux local'
complete -c tonnage -n '__fish_seen_subcommand_from queues' -l site -d 'read this site file and no other' -r
complete -c tonnage -n '__fish_seen_subcommand_from queues' -l json -d 'print one JSON object on stdout and nothing else there'
complete -c tonnage -n '__fish_seen_subcommand_from doctor' -l site -d 'read this site file and no other' -r
complete -c tonnage -n '__fish_seen_subcommand_from doctor' -l hosts -d 'check these hosts: a,b,c or node[1-3]' -r
complete -c tonnage -n '__fish_seen_subcommand_from doctor' -l within -d 'hosts that are not there by then are left out' -r
complete -c tonnage -n '__fish_seen_subcommand_from doctor' -l via -d 'how to get there' -x -a 'ssh slurm mpi'
complete -c tonnage -n '__fish_seen_subcommand_from doctor' -l target -d 'look at this directory on each of the hosts; a file of 64 KiB is made there for a moment' -r
complete -c tonnage -n '__fish_seen_subcommand_from doctor' -l json -d 'print one JSON object on stdout and nothing else there'
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from run' -l from -d 'tree that is read' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from run' -l to -d 'tree that is written; made if only its parent is there' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from run' -l name -d 'what the mover is called on this host' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from run' -l state -d 'directory of the journal, on node-local storage' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from run' -l trees-changed -d 'go on though a tree is not the directory it was: what is missing at the destination goes again'
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from run' -l include -d 'stage only what matches, relative to the source' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from run' -l exclude -d 'do not stage what matches' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from run' -l first -d 'what matches goes before the rest, the first --first first' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from run' -l order -d 'which of the waiting files goes next' -x -a 'oldest newest smallest largest'
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from run' -l check -d 'how a copy is proved: checksum of what was written, of what is read back from the destination (what --delete takes unless this is given), or none' -x -a 'none written read-back'
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from run' -l overwrite -d 'what may be replaced at the destination besides this mover\'s own files' -x -a 'never older always'
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from run' -l marker -d 'a file that matches appears only after everything else below its directory is safe' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from run' -l delete -d 'when a verified file leaves the source: once it is safe, or the oldest first above --high' -x -a 'never done high-water'
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from run' -l drop-attributes -d 'delete also what has attributes (xattrs, access lists, owner) that the destination does not take'
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from run' -l high -d 'share of the source\'s file system above which it is called full' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from run' -l low -d 'share down to which --delete high-water clears' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from run' -l limit -d 'bound: 200MB/s, 100files/s, both with a comma between, 0 (paused)' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from run' -l workers -d 'threads that copy' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from run' -l gentle -d 'slower while the application\'s own I/O or processor time suffers' -x -a 'auto off'
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from run' -l deadline -d 'time to go on for, by priority, after SIGTERM or `stage stop`, and after the end of the application' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from run' -l log -d 'file that gets Spectral\'s lines' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from run' -l metrics -d 'serve Prometheus on 127.0.0.1:PORT' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from start' -l from -d 'tree that is read' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from start' -l to -d 'tree that is written; made if only its parent is there' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from start' -l name -d 'what the mover is called on this host' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from start' -l state -d 'directory of the journal, on node-local storage' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from start' -l trees-changed -d 'go on though a tree is not the directory it was: what is missing at the destination goes again'
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from start' -l foreground -d 'stay attached, with a panel'
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from start' -l include -d 'stage only what matches, relative to the source' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from start' -l exclude -d 'do not stage what matches' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from start' -l first -d 'what matches goes before the rest, the first --first first' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from start' -l order -d 'which of the waiting files goes next' -x -a 'oldest newest smallest largest'
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from start' -l check -d 'how a copy is proved: checksum of what was written, of what is read back from the destination (what --delete takes unless this is given), or none' -x -a 'none written read-back'
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from start' -l overwrite -d 'what may be replaced at the destination besides this mover\'s own files' -x -a 'never older always'
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from start' -l marker -d 'a file that matches appears only after everything else below its directory is safe' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from start' -l delete -d 'when a verified file leaves the source: once it is safe, or the oldest first above --high' -x -a 'never done high-water'
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from start' -l drop-attributes -d 'delete also what has attributes (xattrs, access lists, owner) that the destination does not take'
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from start' -l high -d 'share of the source\'s file system above which it is called full' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from start' -l low -d 'share down to which --delete high-water clears' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from start' -l limit -d 'bound: 200MB/s, 100files/s, both with a comma between, 0 (paused)' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from start' -l workers -d 'threads that copy' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from start' -l gentle -d 'slower while the application\'s own I/O or processor time suffers' -x -a 'auto off'
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from start' -l deadline -d 'time to go on for, by priority, after SIGTERM or `stage stop`, and after the end of the application' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from start' -l log -d 'file that gets Spectral\'s lines' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from start' -l metrics -d 'serve Prometheus on 127.0.0.1:PORT' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from status' -l from -d 'the mover that reads DIR' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from status' -l to -d 'the mover that writes DIR' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from status' -l name -d 'the mover of this name' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from status' -l state -d 'the mover whose journal is in DIR' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from status' -l json -d 'print one JSON object on stdout and nothing else there'
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from status' -l watch -d 'go on until the mover ends, with a panel'
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from wait' -l from -d 'the mover that reads DIR' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from wait' -l to -d 'the mover that writes DIR' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from wait' -l name -d 'the mover of this name' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from wait' -l state -d 'the mover whose journal is in DIR' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from wait' -l timeout -d 'give up after TIME' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from stop' -l from -d 'the mover that reads DIR' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from stop' -l to -d 'the mover that writes DIR' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from stop' -l name -d 'the mover of this name' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from stop' -l state -d 'the mover whose journal is in DIR' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from stop' -l deadline -d 'time it may go on for; 0 ends it now' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from limit' -l from -d 'the mover that reads DIR' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from limit' -l to -d 'the mover that writes DIR' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from limit' -l name -d 'the mover of this name' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from limit' -l state -d 'the mover whose journal is in DIR' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from verify' -l to -d 'tree that was staged into' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from verify' -l threads -d 'files that are read at once' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from verify' -l json -d 'print one JSON object on stdout and nothing else there'
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from resume' -l from -d 'the mover that reads DIR' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from resume' -l to -d 'the mover that writes DIR' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from resume' -l name -d 'the mover of this name' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from resume' -l state -d 'the mover whose journal is in DIR' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from resume' -l wait -d 'stay, and end when everything is safe'
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from resume' -l trees-changed -d 'go on though a tree is not the directory it was: what is missing at the destination goes again'
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from resume' -l drop-attributes -d 'delete also what has attributes (xattrs, access lists, owner) that the destination does not take'
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from in' -l from -d 'tree that is read' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from in' -l to -d 'tree that is written; made if only its parent is there' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from in' -l name -d 'what the mover is called on this host' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from in' -l state -d 'directory of the journal, on node-local storage' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from in' -l trees-changed -d 'go on though a tree is not the directory it was: what is missing at the destination goes again'
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from in' -l include -d 'stage only what matches, relative to the source' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from in' -l exclude -d 'do not stage what matches' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from in' -l first -d 'what matches goes before the rest, the first --first first' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from in' -l order -d 'which of the waiting files goes next' -x -a 'oldest newest smallest largest'
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from in' -l check -d 'how a copy is proved: checksum of what was written, of what is read back from the destination (what --delete takes unless this is given), or none' -x -a 'none written read-back'
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from in' -l overwrite -d 'what may be replaced at the destination besides this mover\'s own files' -x -a 'never older always'
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from in' -l limit -d 'bound: 200MB/s, 100files/s, both with a comma between, 0 (paused)' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from in' -l workers -d 'threads that copy' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from in' -l gentle -d 'slower while the application\'s own I/O or processor time suffers' -x -a 'auto off'
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from list' -l json -d 'print one JSON object on stdout and nothing else there'
complete -c tonnage -n '__fish_seen_subcommand_from completions' -f -a 'bash zsh fish'
complete -c tonnage -n '__fish_seen_subcommand_from schema' -f -a 'json compare history crossover project verify submit where load watch servers jobs cancel queues doctor campaign site'
complete -c tonnage -n '__fish_seen_subcommand_from compat' -f -a 'install'
