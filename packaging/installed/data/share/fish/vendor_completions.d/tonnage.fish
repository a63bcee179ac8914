complete -c tonnage -n __fish_use_subcommand -l version -d 'print the version'
complete -c tonnage -f -n __fish_use_subcommand -a probe -d 'find the load line of a storage'
complete -c tonnage -f -n __fish_use_subcommand -a run -d 'carry out a campaign file, or resume a run'
complete -c tonnage -f -n __fish_use_subcommand -a company -d 'find which workloads slow each other on a storage'
complete -c tonnage -f -n __fish_use_subcommand -a io500 -d 'measure what the IO500 benchmark measures, by its own configuration'
complete -c tonnage -f -n __fish_use_subcommand -a example -d 'print a campaign to begin with'
complete -c tonnage -f -n __fish_use_subcommand -a import -d 'take over what another tool measured'
complete -c tonnage -f -n __fish_use_subcommand -a clean -d 'remove what killed runs left behind: scratch directories, or objects and snapshots of a pool'
complete -c tonnage -f -n __fish_use_subcommand -a report -d 'write the report of a run'
complete -c tonnage -f -n __fish_use_subcommand -a compare -d 'tell whether a system is faster or slower than another, by their runs'
complete -c tonnage -f -n __fish_use_subcommand -a history -d 'tell when runs became faster or slower, and what changed then'
complete -c tonnage -f -n __fish_use_subcommand -a crossover -d 'tell from how many nodes on which of two tiers wins'
complete -c tonnage -f -n __fish_use_subcommand -a project -d 'tell what to expect at a size that was not measured'
complete -c tonnage -f -n __fish_use_subcommand -a demand -d 'tell what a job asks of a storage, from its Darshan log'
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
complete -c tonnage -f -n __fish_use_subcommand -a spectral_wait -d 'Spectral\'s wait at the end of a script'
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
complete -c tonnage -n '__fish_seen_subcommand_from probe' -l surface -d 'find the load line of every transfer size from 4KiB to 16MiB instead of one; --budget is then 5m unless given'
complete -c tonnage -n '__fish_seen_subcommand_from probe' -l seed -d 'seed of payloads and orders' -r
complete -c tonnage -n '__fish_seen_subcommand_from probe' -l direct -d 'past the page cache, through it, or past it where the file system can' -x -a 'auto yes no'
complete -c tonnage -n '__fish_seen_subcommand_from probe' -l storage -d 'how bytes are touched' -x -a 'posix uring mmap mpiio'
complete -c tonnage -n '__fish_seen_subcommand_from probe' -l access -d 'order in which a task visits its transfers' -x -a 'sequential strided random'
complete -c tonnage -n '__fish_seen_subcommand_from probe' -l queue-depth -d 'operations in flight in each task; above 1 needs --storage uring' -r
complete -c tonnage -n '__fish_seen_subcommand_from probe' -l space -d 'bytes of files at once' -r
complete -c tonnage -n '__fish_seen_subcommand_from probe' -l beside -d 'find the load line while a workload of this name (metadata-storm, small-random-reads, checkpoint, drain, stream-read, stream-write) runs at a share of the rate that it reaches alone; 50% unless given' -r
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
complete -c tonnage -n '__fish_seen_subcommand_from company' -l share -d 'of its rate alone, for the one beside' -r
complete -c tonnage -n '__fish_seen_subcommand_from company' -l budget -d 'time for all of it' -r
complete -c tonnage -n '__fish_seen_subcommand_from company' -l seed -d 'seed of payloads and orders' -r
complete -c tonnage -n '__fish_seen_subcommand_from company' -l dry-run -d 'print the plan and the time and space it takes; write nothing'
complete -c tonnage -n '__fish_seen_subcommand_from company' -l out -d 'run directory to make' -r
complete -c tonnage -n '__fish_seen_subcommand_from company' -l json -d 'print one JSON object on stdout and nothing else there'
complete -c tonnage -n '__fish_seen_subcommand_from company' -s v -l verbose -d 'print all tables and findings, also where a screen tells what a search found'
complete -c tonnage -n '__fish_seen_subcommand_from company' -l no-report -d 'do not write report.html'
complete -c tonnage -n '__fish_seen_subcommand_from io500' -l tasks -d 'tasks in this process; under MPI, all its processes' -r
complete -c tonnage -n '__fish_seen_subcommand_from io500' -l repeat -d 'do everything so many times, for an interval of the score' -r
complete -c tonnage -n '__fish_seen_subcommand_from io500' -l mode -d 'which phases' -x -a 'standard extended'
complete -c tonnage -n '__fish_seen_subcommand_from io500' -l timestamp -d 'name of the directories of this benchmark' -r
complete -c tonnage -n '__fish_seen_subcommand_from io500' -l resume -d 'go on with an interrupted benchmark' -r
complete -c tonnage -n '__fish_seen_subcommand_from io500' -l dry-run -d 'check CONFIG, print what each phase would do, and make nothing'
complete -c tonnage -n '__fish_seen_subcommand_from io500' -l cleanup -d 'with --resume RESULTS: remove what the interrupted benchmark left, and do not go on'
complete -c tonnage -n '__fish_seen_subcommand_from io500' -l verify -d 'check that the figures of a result agree with its hash; CONFIG: and its configuration' -r
complete -c tonnage -n '__fish_seen_subcommand_from io500' -l list -d 'print every section and key with its default'
complete -c tonnage -n '__fish_seen_subcommand_from io500' -l json -d 'print one JSON object on stdout and nothing else there'
complete -c tonnage -n '__fish_seen_subcommand_from example' -l out -d 'write it to this file, which must not be there yet' -r
complete -c tonnage -n '__fish_seen_subcommand_from import' -f -a 'ior ior-operations mdtest io500 fio fio-text fio-terse fio-log elbencho elbencho-text elbencho-live iperf3 iperf3-text iozone vdbench warp dlio sob rados nextflow nextflow-timeline darshan'
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
complete -c tonnage -n '__fish_seen_subcommand_from demand' -l path -d 'compare with the load line of PATH' -r
complete -c tonnage -n '__fish_seen_subcommand_from demand' -l file-system -d 'look at the job\'s calls on this mount point' -r
complete -c tonnage -n '__fish_seen_subcommand_from demand' -l campaign -d 'write a campaign that makes the same demand' -r
complete -c tonnage -n '__fish_seen_subcommand_from demand' -l target -d 'the directory that the campaign measures' -r
complete -c tonnage -n '__fish_seen_subcommand_from demand' -l sweep -d 'the campaign also has 1, 2, 4 ... up to twice the job\'s tasks, to find its load line'
complete -c tonnage -n '__fish_seen_subcommand_from demand' -l replayed -d 'compare the job with a run of that campaign, or a log of it, counter by counter' -r
complete -c tonnage -n '__fish_seen_subcommand_from demand' -l site -d 'read this site file and no other' -r
complete -c tonnage -n '__fish_seen_subcommand_from demand' -l out -d 'also write a page with the picture' -r
complete -c tonnage -n '__fish_seen_subcommand_from demand' -l json -d 'print one JSON object on stdout and nothing else there'
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
complete -c tonnage -n '__fish_seen_subcommand_from submit' -l profile -d 'run directory that measured the program, or its Darshan log, for what a copy asks of the line' -r
complete -c tonnage -n '__fish_seen_subcommand_from submit' -l transfer -d 'bytes of its operations: the load line of the nearest transfer size counts' -r
complete -c tonnage -n '__fish_seen_subcommand_from submit' -l io-share -d 'share of its time alone in which it waits for storage' -r
complete -c tonnage -n '__fish_seen_subcommand_from submit' -l anywhere -d 'go on where nobody knows the file server, or nothing beside it takes the job'
complete -c tonnage -n '__fish_seen_subcommand_from submit' -l key -d 'name of this submission: the same one is never submitted twice' -r
complete -c tonnage -n '__fish_seen_subcommand_from submit' -l dry-run -d 'print the decision and the command; submit nothing'
complete -c tonnage -n '__fish_seen_subcommand_from submit' -l scheduler -d 'which one' -x -a 'auto slurm lsf pbs flux local'
complete -c tonnage -n '__fish_seen_subcommand_from submit' -l local-wait -d 'longest expected wait for a slot beside the data' -r
complete -c tonnage -n '__fish_seen_subcommand_from submit' -l site -d 'read this site file and no other' -r
complete -c tonnage -n '__fish_seen_subcommand_from submit' -l json -d 'print one JSON object on stdout and nothing else there'
complete -c tonnage -n '__fish_seen_subcommand_from where' -l transfer -d 'bytes of an operation: show the load line of the nearest transfer size' -r
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
complete -c tonnage -n '__fish_seen_subcommand_from schema' -f -a 'json compare history crossover project storage verify submit where load watch servers jobs cancel queues doctor campaign site'
complete -c tonnage -n '__fish_seen_subcommand_from ior' -s a -d 'how files are reached: POSIX, MPIIO, MMAP, AIO or URING (both use io_uring); DUMMY touches no file' -r
complete -c tonnage -n '__fish_seen_subcommand_from ior' -s A -d 'number of your choice, printed in the summary as RefNum' -r
complete -c tonnage -n '__fish_seen_subcommand_from ior' -s b -d 'bytes that a task has in one piece of the file; a multiple of -t. 8, 4k, 2m, 1g (powers of 1024)' -r
complete -c tonnage -n '__fish_seen_subcommand_from ior' -s c -l collective -d 'MPIIO: all tasks of a file make each transfer together. Other backends only print the type as collective'
complete -c tonnage -n '__fish_seen_subcommand_from ior' -s C -d 'each task reads what the task -Q further on wrote, not the data that its own node may have cached'
complete -c tonnage -n '__fish_seen_subcommand_from ior' -s d -d 'seconds to wait before each phase; 0.5 is half a second' -r
complete -c tonnage -n '__fish_seen_subcommand_from ior' -s D -d 'seconds after which a write or read phase stops; 0: no limit' -r
complete -c tonnage -n '__fish_seen_subcommand_from ior' -s e -d 'a write ends with fsync, inside the measured time; without -e, data may still be in memory'
complete -c tonnage -n '__fish_seen_subcommand_from ior' -s E -d 'writes into existing files, whoever made them, and does not cut them; without -E, a file that Tonnage made is replaced and any other is an error'
complete -c tonnage -n '__fish_seen_subcommand_from ior' -s f -d 'file with the tests: lines name=value between IOR START and IOR STOP; each line RUN starts one' -r
complete -c tonnage -n '__fish_seen_subcommand_from ior' -s F -d 'each task has its own file; without -F, all tasks share one'
complete -c tonnage -n '__fish_seen_subcommand_from ior' -s g -d 'all tasks wait for each other after they opened the file, and again before they close it'
complete -c tonnage -n '__fish_seen_subcommand_from ior' -s G -d 'seed of the data; a later -R or -W needs the same one. 0: a random one' -r
complete -c tonnage -n '__fish_seen_subcommand_from ior' -s i -d 'how many times the test runs' -r
complete -c tonnage -n '__fish_seen_subcommand_from ior' -s j -d 'warns of a task whose open, transfer or close is more than this many seconds off the mean of all tasks; 0: never' -r
complete -c tonnage -n '__fish_seen_subcommand_from ior' -s k -d 'the files stay; without -k, those that Tonnage made are removed at the end'
complete -c tonnage -n '__fish_seen_subcommand_from ior' -s K -d 'files in which the last read found damage stay, also without -k'
complete -c tonnage -n '__fish_seen_subcommand_from ior' -s l -l dataPacketType -d 'kind of data: offset, incompressible, timestamp or random (o, i, t, r). Here all four mean the same: unique data that does not compress' -r
complete -c tonnage -n '__fish_seen_subcommand_from ior' -s m -d 'each repetition has its own files, FILE.0, FILE.1 and so on'
complete -c tonnage -n '__fish_seen_subcommand_from ior' -s M -d 'memory to occupy on a node during each phase, so that less is left for the page cache: 2g or 75%' -r
complete -c tonnage -n '__fish_seen_subcommand_from ior' -s N -l tasks -d 'how many tasks: processes that MPI started, else threads of one process. -1: all processes, or one thread' -r
complete -c tonnage -n '__fish_seen_subcommand_from ior' -s o -d 'path of the file. With -F also several, A@B: the tasks take them in turn' -r
complete -c tonnage -n '__fish_seen_subcommand_from ior' -s O -d 'sets parameters by name: -O NAME=VALUE,NAME=VALUE. Here a name stands before the colon, or after -O' -r
complete -c tonnage -n '__fish_seen_subcommand_from ior' -s Q -d 'distance of -C in tasks; in nodes, if the tasks are on several' -r
complete -c tonnage -n '__fish_seen_subcommand_from ior' -s r -d 'reads the files, which must exist and be long enough. Without -r, -R, -w and -W, a test writes and reads'
complete -c tonnage -n '__fish_seen_subcommand_from ior' -s R -d 'reads the files and checks every byte; Tonnage must have written them with the same -G'
complete -c tonnage -n '__fish_seen_subcommand_from ior' -s s -d 'number of segments in a file; a segment holds one block of each task' -r
complete -c tonnage -n '__fish_seen_subcommand_from ior' -s t -d 'bytes of one read or write call, a multiple of 8, at most 1g. 8, 4k, 2m (powers of 1024)' -r
complete -c tonnage -n '__fish_seen_subcommand_from ior' -s T -d 'minutes after which no further phase starts; 0: no limit' -r
complete -c tonnage -n '__fish_seen_subcommand_from ior' -s u -d 'the file of each task is in a directory of its own, which is made if it is missing. With -F'
complete -c tonnage -n '__fish_seen_subcommand_from ior' -s v -d 'prints more; -vv up to -vvvvv print still more'
complete -c tonnage -n '__fish_seen_subcommand_from ior' -s w -d 'writes the files'
complete -c tonnage -n '__fish_seen_subcommand_from ior' -s W -d 'after a write, outside its time, each task reads back what it wrote and checks every byte. Without -w, only checks'
complete -c tonnage -n '__fish_seen_subcommand_from ior' -s x -d 'a call that moves only a part of a transfer is an error; without -x, another call moves the rest'
complete -c tonnage -n '__fish_seen_subcommand_from ior' -s X -d 'seed of the order of -Z; 0: from -G' -r
complete -c tonnage -n '__fish_seen_subcommand_from ior' -s y -d 'the tasks work through two mounts of a file system'
complete -c tonnage -n '__fish_seen_subcommand_from ior' -s Y -d 'fsync after each write call, inside the measured time'
complete -c tonnage -n '__fish_seen_subcommand_from ior' -s z -d 'transfers at random offsets: each transfer of a task\'s own blocks once. -z -z: blocks drawn from the whole file, some more than once; within a block the transfers are in order'
complete -c tonnage -n '__fish_seen_subcommand_from ior' -l randomPrefill -d 'before a write with -z, outside its time, the files are filled by writes of this many bytes; 0: not filled' -r
complete -c tonnage -n '__fish_seen_subcommand_from ior' -l random-offset-seed -d 'seed of the order of -z; -1: from -G' -r
complete -c tonnage -n '__fish_seen_subcommand_from ior' -s Z -d 'each task reads what another task wrote, drawn at random; no two tasks read the same'
complete -c tonnage -n '__fish_seen_subcommand_from ior' -l warningAsErrors -d 'the exit status is 1 if a warning was printed'
complete -c tonnage -n '__fish_seen_subcommand_from ior' -l dryRun -d 'checks the request and prints the header; reads and writes nothing'
complete -c tonnage -n '__fish_seen_subcommand_from ior' -l posix.odirect -d 'transfers bypass the page cache (O_DIRECT)'
complete -c tonnage -n '__fish_seen_subcommand_from ior' -l posix.rangelocks -d 'locks the bytes of each transfer; reads share a lock'
complete -c tonnage -n '__fish_seen_subcommand_from ior' -l posix.beegfs.NumTargets -d 'BeeGFS: number of targets of a new file; -1: as its directory says' -r
complete -c tonnage -n '__fish_seen_subcommand_from ior' -l posix.beegfs.ChunkSize -d 'BeeGFS: bytes of a chunk of a new file, a power of two from 64k on; -1: as its directory says' -r
complete -c tonnage -n '__fish_seen_subcommand_from ior' -l posix.gpfs.hintaccess -d 'GPFS: announces each transfer'
complete -c tonnage -n '__fish_seen_subcommand_from ior' -l posix.gpfs.releasetoken -d 'GPFS: 1: gives up the locks of a file after it was opened' -r
complete -c tonnage -n '__fish_seen_subcommand_from ior' -l posix.gpfs.finegrainwritesharing -d 'GPFS: prepares a file for small writes by many nodes'
complete -c tonnage -n '__fish_seen_subcommand_from ior' -l posix.gpfs.finegrainreadsharing -d 'GPFS: prepares a file for small reads by many nodes'
complete -c tonnage -n '__fish_seen_subcommand_from ior' -l posix.gpfs.createsharing -d 'GPFS: prepares a directory in which many nodes create files'
complete -c tonnage -n '__fish_seen_subcommand_from ior' -l posix.lustre.stripecount -d 'Lustre: number of stripes of a new file; 0: as its directory says' -r
complete -c tonnage -n '__fish_seen_subcommand_from ior' -l posix.lustre.stripesize -d 'Lustre: bytes of a stripe of a new file; 0: as its directory says' -r
complete -c tonnage -n '__fish_seen_subcommand_from ior' -l posix.lustre.startost -d 'Lustre: index of the OST with the first stripe; -1: Lustre chooses' -r
complete -c tonnage -n '__fish_seen_subcommand_from ior' -l posix.lustre.ignorelocks -d 'Lustre: takes no locks'
complete -c tonnage -n '__fish_seen_subcommand_from ior' -l posix.lustre.pool -d 'Lustre: pool of OSTs for a new file; with stripecount and stripesize' -r
complete -c tonnage -n '__fish_seen_subcommand_from ior' -l dummy.delay-only-rank0 -d 'only task 0 waits, not every task'
complete -c tonnage -n '__fish_seen_subcommand_from ior' -l dummy.delay-create -d 'microseconds to wait in each open for a write' -r
complete -c tonnage -n '__fish_seen_subcommand_from ior' -l dummy.delay-close -d 'microseconds to wait in each close' -r
complete -c tonnage -n '__fish_seen_subcommand_from ior' -l dummy.delay-sync -d 'microseconds to wait in each fsync of -e and -Y' -r
complete -c tonnage -n '__fish_seen_subcommand_from ior' -l dummy.delay-xfer -d 'microseconds to wait in each transfer' -r
complete -c tonnage -n '__fish_seen_subcommand_from ior' -l mpiio.showHints -s H -d 'prints the hints given to MPI, and those in effect'
complete -c tonnage -n '__fish_seen_subcommand_from ior' -l mpiio.preallocate -s p -d 'reserves the space of a file when it is opened for a write'
complete -c tonnage -n '__fish_seen_subcommand_from ior' -l mpiio.useStridedDatatype -s S -d 'each call moves a transfer of every segment, by an MPI data type; with useFileView'
complete -c tonnage -n '__fish_seen_subcommand_from ior' -l mpiio.useFileView -s V -d 'each task sees only its own blocks of the file (MPI_File_set_view)'
complete -c tonnage -n '__fish_seen_subcommand_from ior' -l mpiio.hintsFileName -s U -d 'file with hints of MPI, one a line: IOR_HINT__MPI__NAME=VALUE. It overrides the environment' -r
complete -c tonnage -n '__fish_seen_subcommand_from ior' -l mmap.madv_dont_need -d 'madvise DONTNEED when the file is mapped; little effect, as no page is mapped at that time'
complete -c tonnage -n '__fish_seen_subcommand_from ior' -l mmap.madv_pattern -d 'madvise RANDOM with -z, else SEQUENTIAL'
complete -c tonnage -n '__fish_seen_subcommand_from ior' -l aio.max-pending -d 'number of operations that a task has under way at once' -r
complete -c tonnage -n '__fish_seen_subcommand_from ior' -l aio.granularity -d 'no effect: as soon as one operation ends, the next one starts' -r
complete -c tonnage -n '__fish_seen_subcommand_from mdtest' -s C -d 'create files and directories; they stay unless -r is given'
complete -c tonnage -n '__fish_seen_subcommand_from mdtest' -s T -d 'stat the files and directories'
complete -c tonnage -n '__fish_seen_subcommand_from mdtest' -s E -d 'read the files'
complete -c tonnage -n '__fish_seen_subcommand_from mdtest' -s r -d 'remove the files and directories'
complete -c tonnage -n '__fish_seen_subcommand_from mdtest' -s U -d 'rename the directories; only with -r, which removes them under their new names'
complete -c tonnage -n '__fish_seen_subcommand_from mdtest' -s D -d 'directories only'
complete -c tonnage -n '__fish_seen_subcommand_from mdtest' -s F -d 'files only'
complete -c tonnage -n '__fish_seen_subcommand_from mdtest' -s k -d 'make empty files with mknod, without opening them'
complete -c tonnage -n '__fish_seen_subcommand_from mdtest' -s L -d 'items only in the leaf directories of the tree'
complete -c tonnage -n '__fish_seen_subcommand_from mdtest' -s P -d 'print tables of rates and of times'
complete -c tonnage -n '__fish_seen_subcommand_from mdtest' -l print-all-procs -d 'print the rate, or time, of each task'
complete -c tonnage -n '__fish_seen_subcommand_from mdtest' -s R -d 'stat and read the items in random order; with -W also remove them in it'
complete -c tonnage -n '__fish_seen_subcommand_from mdtest' -s S -d 'all tasks work on the same files; without directories'
complete -c tonnage -n '__fish_seen_subcommand_from mdtest' -s c -d 'task 0 creates and removes the items of all tasks'
complete -c tonnage -n '__fish_seen_subcommand_from mdtest' -s t -d 'no effect: going to a task\'s directory is always in the measured time'
complete -c tonnage -n '__fish_seen_subcommand_from mdtest' -s u -d 'each task has its own tree; without -u, all share one'
complete -c tonnage -n '__fish_seen_subcommand_from mdtest' -s v -d 'print more; -v adds the time and rate of each phase'
complete -c tonnage -n '__fish_seen_subcommand_from mdtest' -s X -l verify-read -d 'check every byte that is read; with the -G of the write'
complete -c tonnage -n '__fish_seen_subcommand_from mdtest' -l verify-write -d 'read each file back after its write, in the measured time, and check every byte'
complete -c tonnage -n '__fish_seen_subcommand_from mdtest' -s y -d 'fsync each file after its write; with -w'
complete -c tonnage -n '__fish_seen_subcommand_from mdtest' -s Y -d 'each task syncs the file system after each phase, in the measured time'
complete -c tonnage -n '__fish_seen_subcommand_from mdtest' -s Z -d 'print a table of times, not of rates'
complete -c tonnage -n '__fish_seen_subcommand_from mdtest' -l warningAsErrors -d 'no effect: a phase that fails is an error anyway'
complete -c tonnage -n '__fish_seen_subcommand_from mdtest' -l showRankStatistics -d 'also print columns over the tasks, not only over the iterations'
complete -c tonnage -n '__fish_seen_subcommand_from mdtest' -s g -d 'Lustre: default directory layout'
complete -c tonnage -n '__fish_seen_subcommand_from mdtest' -s a -d 'how files are reached: POSIX, or DUMMY, which touches none' -r
complete -c tonnage -n '__fish_seen_subcommand_from mdtest' -s b -d 'subdirectories of each directory of the tree, down to level -z' -r
complete -c tonnage -n '__fish_seen_subcommand_from mdtest' -s d -d 'directory to work in; with -u also several, DIR@DIR' -r
complete -c tonnage -n '__fish_seen_subcommand_from mdtest' -s B -d '1: tasks do not wait' -r
complete -c tonnage -n '__fish_seen_subcommand_from mdtest' -s e -d 'bytes that a task reads of each file; 4k is 4096' -r
complete -c tonnage -n '__fish_seen_subcommand_from mdtest' -s f -d 'smallest number of tasks, where -l is given' -r
complete -c tonnage -n '__fish_seen_subcommand_from mdtest' -s G -d 'seed of the data, also below 0; -1: a random one' -r
complete -c tonnage -n '__fish_seen_subcommand_from mdtest' -s i -d 'how many times all phases are done' -r
complete -c tonnage -n '__fish_seen_subcommand_from mdtest' -s I -d 'items in each directory of the tree; with -n: in each of several directories' -r
complete -c tonnage -n '__fish_seen_subcommand_from mdtest' -s l -d 'largest number of tasks: -f 2 -l 6 -s 2 measures with 2, 4 and 6; 0: only with all' -r
complete -c tonnage -n '__fish_seen_subcommand_from mdtest' -s n -d 'items of each task: N files, N directories, or N of each' -r
complete -c tonnage -n '__fish_seen_subcommand_from mdtest' -s N -d 'a task works on what the task N further on made; N nodes, where each has a block of tasks' -r
complete -c tonnage -n '__fish_seen_subcommand_from mdtest' -s p -d 'seconds to wait before the phases on directories, and before those on files; with -R also before each removal' -r
complete -c tonnage -n '__fish_seen_subcommand_from mdtest' -l random-seed -d 'random order as with -R, with this seed; 0: no' -r
complete -c tonnage -n '__fish_seen_subcommand_from mdtest' -s s -d 'step between the numbers of tasks, where -l is given' -r
complete -c tonnage -n '__fish_seen_subcommand_from mdtest' -s V -d 'as N times -v' -r
complete -c tonnage -n '__fish_seen_subcommand_from mdtest' -s w -d 'bytes that a task writes to each new file; 4k is 4096' -r
complete -c tonnage -n '__fish_seen_subcommand_from mdtest' -s W -d 'seconds after which creation stops; slower tasks then catch up. 0: no limit' -r
complete -c tonnage -n '__fish_seen_subcommand_from mdtest' -s x -d 'file that keeps how many files a task created; later runs use as many' -r
complete -c tonnage -n '__fish_seen_subcommand_from mdtest' -s z -d 'levels of directories below the top one' -r
complete -c tonnage -n '__fish_seen_subcommand_from mdtest' -l dataPacketType -d 'kind of data: t, o, i or r; here none compresses' -r
complete -c tonnage -n '__fish_seen_subcommand_from mdtest' -l run-cmd-before-phase -d 'command before each phase, outside the measured time' -r
complete -c tonnage -n '__fish_seen_subcommand_from mdtest' -l run-cmd-after-phase -d 'command after each phase, inside the measured time' -r
complete -c tonnage -n '__fish_seen_subcommand_from mdtest' -l saveRankPerformanceDetails -d 'CSV file with rate and time of each task and phase' -r
complete -c tonnage -n '__fish_seen_subcommand_from mdtest' -l savePerOpDataCSV -d 'CSV files with start, seconds and rate of each file operation' -r
complete -c tonnage -n '__fish_seen_subcommand_from mdtest' -l posix.odirect -d 'files bypass the page cache (O_DIRECT); -w and -e in whole blocks of its device'
complete -c tonnage -n '__fish_seen_subcommand_from mdtest' -l posix.rangelocks -d 'lock the bytes of each transfer'
complete -c tonnage -n '__fish_seen_subcommand_from mdtest' -l dummy.delay-only-rank0 -d 'only task 0 waits, not every task'
complete -c tonnage -n '__fish_seen_subcommand_from mdtest' -l dummy.delay-create -d 'microseconds to wait in each create' -r
complete -c tonnage -n '__fish_seen_subcommand_from mdtest' -l dummy.delay-close -d 'microseconds to wait in each close' -r
complete -c tonnage -n '__fish_seen_subcommand_from mdtest' -l dummy.delay-sync -d 'microseconds to wait in each sync' -r
complete -c tonnage -n '__fish_seen_subcommand_from mdtest' -l dummy.delay-xfer -d 'microseconds to wait in each transfer' -r
complete -c tonnage -n '__fish_seen_subcommand_from mdtest' -l mpiio.showHints -d 'print the MPI-IO hints in effect'
complete -c tonnage -n '__fish_seen_subcommand_from mdtest' -l mpiio.preallocate -d 'reserve the space of a file before it is written'
complete -c tonnage -n '__fish_seen_subcommand_from mdtest' -l mpiio.useStridedDatatype -d 'describe strided offsets by an MPI data type'
complete -c tonnage -n '__fish_seen_subcommand_from mdtest' -l mpiio.useFileView -d 'give each task a file view'
complete -c tonnage -n '__fish_seen_subcommand_from mdtest' -l mpiio.hintsFileName -d 'file with MPI-IO hints' -r
complete -c tonnage -n '__fish_seen_subcommand_from mdtest' -l mmap.madv_dont_need -d 'madvise DONTNEED for each mapping'
complete -c tonnage -n '__fish_seen_subcommand_from mdtest' -l mmap.madv_pattern -d 'madvise RANDOM or SEQUENTIAL for each mapping'
complete -c tonnage -n '__fish_seen_subcommand_from mdtest' -l tasks -d 'number of tasks; under MPI, all its processes' -r
complete -c tonnage -n '__fish_seen_subcommand_from sob' -s w -d 'write the files'
complete -c tonnage -n '__fish_seen_subcommand_from sob' -s r -d 'read the files, one after the other'
complete -c tonnage -n '__fish_seen_subcommand_from sob' -s R -d 'read so many blocks at random places of all files' -r
complete -c tonnage -n '__fish_seen_subcommand_from sob' -s b -d 'bytes of a block, of one write or read' -r
complete -c tonnage -n '__fish_seen_subcommand_from sob' -s s -d 'bytes of a file; a whole number of blocks' -r
complete -c tonnage -n '__fish_seen_subcommand_from sob' -s n -d 'number of files' -r
complete -c tonnage -n '__fish_seen_subcommand_from sob' -s o -d 'files in a directory' -r
complete -c tonnage -n '__fish_seen_subcommand_from iobsub' -s q -d 'quiet: print nothing of ours, nor the receipt; before the name of a queue: that queue'
complete -c tonnage -n '__fish_seen_subcommand_from iobsub' -s I -d 'interactive: wait for it, with this terminal\'s input, output and signals'
complete -c tonnage -n '__fish_seen_subcommand_from iobsub' -o Ip -o Is -d 'the same with a pseudo-terminal'
complete -c tonnage -n '__fish_seen_subcommand_from iobsub' -s K -d 'stay until it has ended, and exit with its status'
complete -c tonnage -n '__fish_seen_subcommand_from iobsub' -s o -d 'file of its output; %J: job, %I: copy' -r
complete -c tonnage -n '__fish_seen_subcommand_from iobsub' -s e -d 'file of its errors' -r
complete -c tonnage -n '__fish_seen_subcommand_from iobsub' -s n -d 'slots it takes' -r
complete -c tonnage -n '__fish_seen_subcommand_from iobsub' -s J -d 'name of the job; with [1-4,7,10-20:2]%3 behind it an array, three at once' -r
complete -c tonnage -n '__fish_seen_subcommand_from iobsub' -s i -d 'file of its input; %J: job, %I: copy' -r
complete -c tonnage -n '__fish_seen_subcommand_from iobsub' -o cwd -d 'where it runs, and whose file server counts' -r
complete -c tonnage -n '__fish_seen_subcommand_from iobsub' -s m -d 'hosts, in the place of those beside the data; +N: the higher the sooner' -r
complete -c tonnage -n '__fish_seen_subcommand_from iobsub' -s W -d 'it ends after so long' -r
complete -c tonnage -n '__fish_seen_subcommand_from iobsub' -s w -d 'jobs that come before: done(1) && ended(2)' -r
complete -c tonnage -n '__fish_seen_subcommand_from iobsub' -s b -d 'it does not begin before' -r
complete -c tonnage -n '__fish_seen_subcommand_from iobsub' -s M -d 'memory that it has; KB where no unit is written' -r
complete -c tonnage -n '__fish_seen_subcommand_from iobsub' -s R -d 'resources: rusage[mem=4GB], span[hosts=1]' -r
complete -c tonnage -n '__fish_seen_subcommand_from iobsub' -s P -d 'project or account that it is charged to' -r
complete -c tonnage -n '__fish_seen_subcommand_from iobsub' -s x -d 'no other job runs on its host meanwhile'
complete -c tonnage -n '__fish_seen_subcommand_from iobsub' -s r -d 'it begins again where its host is lost'
complete -c tonnage -n '__fish_seen_subcommand_from iobsub' -s B -d 'e-mail when it begins'
complete -c tonnage -n '__fish_seen_subcommand_from iobsub' -s N -d 'e-mail when it has ended'
complete -c tonnage -n '__fish_seen_subcommand_from iobsub' -s u -d 'address for that; alone it means -N too' -r
complete -c tonnage -n '__fish_seen_subcommand_from iobsub' -s c -d 'limit of CPU time: with LSF' -r
complete -c tonnage -n '__fish_seen_subcommand_from iobsub' -s E -d 'command before the job: with LSF' -r
complete -c tonnage -n '__fish_seen_subcommand_from iobsub' -l queue -d 'queue or partition' -r
complete -c tonnage -n '__fish_seen_subcommand_from iobsub' -l anywhere -d 'go on where nobody knows the file server, or nothing beside it takes the job'
complete -c tonnage -n '__fish_seen_subcommand_from lsload' -s l -d 'every index: also io, bio and rpc; names are never cut short'
complete -c tonnage -n '__fish_seen_subcommand_from lsload' -s w -d 'names are never cut short'
complete -c tonnage -n '__fish_seen_subcommand_from lsload' -s N -d 'run queues are divided by the number of CPUs; no CPU factors are known, so as -E'
complete -c tonnage -n '__fish_seen_subcommand_from lsload' -s E -d 'run queues are divided by the number of CPUs'
complete -c tonnage -n '__fish_seen_subcommand_from lsload' -s I -d 'these indices alone, like r1m:ut:bio' -r
complete -c tonnage -n '__fish_seen_subcommand_from lsload' -s n -d 'so many servers at most, the best' -r
complete -c tonnage -n '__fish_seen_subcommand_from lsload' -s R -d 'servers that satisfy this resource requirement, in its order' -r
complete -c tonnage -n '__fish_seen_subcommand_from lsload' -s s -d 'what jobs share instead: tasks that load lines still carry, and licences; names may follow'
complete -c tonnage -n '__fish_seen_subcommand_from bjobs' -s u -d 'jobs of this user, or all' -r
complete -c tonnage -n '__fish_seen_subcommand_from bjobs' -s w -d 'nothing is cut short'
complete -c tonnage -n '__fish_seen_subcommand_from bjobs' -s a -d 'also those that ended lately'
complete -c tonnage -n '__fish_seen_subcommand_from bjobs' -s r -d 'those that run'
complete -c tonnage -n '__fish_seen_subcommand_from bjobs' -s p -d 'those that wait'
complete -c tonnage -n '__fish_seen_subcommand_from bjobs' -s s -d 'those that are suspended'
complete -c tonnage -n '__fish_seen_subcommand_from bjobs' -s d -d 'those that ended lately'
complete -c tonnage -n '__fish_seen_subcommand_from bjobs' -s J -d 'jobs of this name; * in it stands for anything, align[3] is a copy' -r
complete -c tonnage -n '__fish_seen_subcommand_from bjobs' -s q -d 'jobs of this queue' -r
complete -c tonnage -n '__fish_seen_subcommand_from bjobs' -s m -d 'jobs that run on this host' -r
complete -c tonnage -n '__fish_seen_subcommand_from bjobs' -s l -d 'all that is known, in sentences'
complete -c tonnage -n '__fish_seen_subcommand_from bjobs' -s o -d 'these fields' -r
complete -c tonnage -n '__fish_seen_subcommand_from bjobs' -o noheader -d 'without the line of headings'
complete -c tonnage -n '__fish_seen_subcommand_from bjobs' -o json -d 'as JSON, with -o'
complete -c tonnage -n '__fish_seen_subcommand_from bjobs' -s X -d 'hosts by their names, as they always are'
complete -c tonnage -n '__fish_seen_subcommand_from bkill' -s J -d 'jobs of this name; * in it stands for anything, align[3] is a copy' -r
complete -c tonnage -n '__fish_seen_subcommand_from bkill' -s q -d 'jobs of this queue' -r
complete -c tonnage -n '__fish_seen_subcommand_from bkill' -s m -d 'jobs that run on this host' -r
complete -c tonnage -n '__fish_seen_subcommand_from bkill' -s u -d 'only your own name is taken' -r
complete -c tonnage -n '__fish_seen_subcommand_from bkill' -s s -d 'signal' -r
complete -c tonnage -n '__fish_seen_subcommand_from bqueues' -s w -d 'nothing is cut short'
complete -c tonnage -n '__fish_seen_subcommand_from bhosts' -s w -d 'nothing is cut short'
complete -c tonnage -n '__fish_seen_subcommand_from compat' -f -a 'install'
