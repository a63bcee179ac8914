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
complete -c tonnage -f -n __fish_use_subcommand -a bjobs -d 'LSF\'s list of jobs, for any scheduler'
complete -c tonnage -f -n __fish_use_subcommand -a bkill -d 'LSF\'s command to end jobs, for any scheduler'
complete -c tonnage -f -n __fish_use_subcommand -a bqueues -d 'LSF\'s list of queues, for any scheduler'
complete -c tonnage -f -n __fish_use_subcommand -a bhosts -d 'LSF\'s list of batch hosts, for any scheduler'
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
complete -c tonnage -n '__fish_seen_subcommand_from probe' -l training -d 'find the most accelerators that are fed instead: samples are read as MLPerf Storage has it for MODEL, and count as fed where they compute 90 % of the time (cosmoflow: 70 %); --budget is then 5m unless given' -r
complete -c tonnage -n '__fish_seen_subcommand_from probe' -l utilisation -d 'with --training: the share of the time that counts as fed' -r
complete -c tonnage -n '__fish_seen_subcommand_from probe' -l accelerators -d 'with --training: largest number of accelerators tried' -r
complete -c tonnage -n '__fish_seen_subcommand_from probe' -l checkpoint-every -d 'with --training: write a checkpoint after every N steps, while all accelerators pause; its time is told and is not in the utilisation' -r
complete -c tonnage -n '__fish_seen_subcommand_from probe' -l checkpoint-size -d 'with --checkpoint-every: its bytes, or llama3-8b, llama3-70b, llama3-405b, llama3-1t; MODEL\'s own unless given; --scale multiplies it' -r
complete -c tonnage -n '__fish_seen_subcommand_from probe' -l kv-cache -d 'find the most users of an inference server instead: turns of conversations read and write the key-value cache of MODEL, as MLPerf Storage has it, at times that are fixed beforehand; --budget is then 5m unless given' -r
complete -c tonnage -n '__fish_seen_subcommand_from probe' -l p95 -d 'with --kv-cache: of 100 turns, 95 end so long after their intended start at most; 200ms unless given' -r
complete -c tonnage -n '__fish_seen_subcommand_from probe' -l users -d 'with --kv-cache: largest number of users tried' -r
complete -c tonnage -n '__fish_seen_subcommand_from probe' -l scale -d 'with --training or --kv-cache: samples, or tokens, of so many times their size' -r
complete -c tonnage -n '__fish_seen_subcommand_from probe' -l seed -d 'seed of payloads and orders' -r
complete -c tonnage -n '__fish_seen_subcommand_from probe' -l direct -d 'bypass the page cache (O_DIRECT): where the file system can, always, or never' -x -a 'auto yes no'
complete -c tonnage -n '__fish_seen_subcommand_from probe' -l storage -d 'interface that reads and writes the files' -x -a 'posix uring mmap mpiio'
complete -c tonnage -n '__fish_seen_subcommand_from probe' -l access -d 'order of the transfers of a task' -x -a 'sequential strided random'
complete -c tonnage -n '__fish_seen_subcommand_from probe' -l queue-depth -d 'operations in flight in each task; above 1 needs --storage uring' -r
complete -c tonnage -n '__fish_seen_subcommand_from probe' -l space -d 'largest total size of the files at any time, those of --beside included' -r
complete -c tonnage -n '__fish_seen_subcommand_from probe' -l beside -d 'find the load line while a workload of this name (metadata-storm, small-random-reads, checkpoint, drain, stream-read, stream-write) runs at a share of the rate that it reaches alone; 50% unless given' -r
complete -c tonnage -n '__fish_seen_subcommand_from probe' -l verify -d 'check every byte that is read'
complete -c tonnage -n '__fish_seen_subcommand_from probe' -l dry-run -d 'print the plan and the time and space it takes; write nothing'
complete -c tonnage -n '__fish_seen_subcommand_from probe' -l out -d 'run directory to make' -r
complete -c tonnage -n '__fish_seen_subcommand_from probe' -l json -d 'print one JSON object on stdout and nothing else there'
complete -c tonnage -n '__fish_seen_subcommand_from probe' -s v -l verbose -d 'print all tables and findings, not only the summary of a search'
complete -c tonnage -n '__fish_seen_subcommand_from probe' -l no-report -d 'do not write report.html'
complete -c tonnage -n '__fish_seen_subcommand_from probe' -l no-keep -d 'do not keep for placement what was found: load lines, what company costs'
complete -c tonnage -n '__fish_seen_subcommand_from run' -l resume -d 'continue an interrupted run or probe' -r
complete -c tonnage -n '__fish_seen_subcommand_from run' -l target -d 'measure this directory (or null:, memory:, sim:…) instead of the file\'s' -r
complete -c tonnage -n '__fish_seen_subcommand_from run' -l scale -d 'multiply the work of every workload (block sizes, files, copies), never its tasks' -r
complete -c tonnage -n '__fish_seen_subcommand_from run' -l only -d 'run only this [[workload]] table; may be repeated' -r
complete -c tonnage -n '__fish_seen_subcommand_from run' -l without -d 'leave out this [[workload]] table; may be repeated' -r
complete -c tonnage -n '__fish_seen_subcommand_from run' -l on -d 'submit the run to this scheduler as jobs and wait for its end; local: this host, in the background' -x -a 'auto slurm lsf pbs flux local'
complete -c tonnage -n '__fish_seen_subcommand_from run' -l partition -d 'partition or queue of workloads that name none' -r
complete -c tonnage -n '__fish_seen_subcommand_from run' -l nodes -d 'nodes of each job whose workload names no hosts' -r
complete -c tonnage -n '__fish_seen_subcommand_from run' -l tasks-per-node -d 'tasks on each node, as threads of one process; a node is filled before the next one is used' -r
complete -c tonnage -n '__fish_seen_subcommand_from run' -l time-limit -d 'the scheduler ends a job after this time' -r
complete -c tonnage -n '__fish_seen_subcommand_from run' -l mpi -d 'interface by which the processes of a job find each other; none: one process' -x -a 'pmix pmi2 none'
complete -c tonnage -n '__fish_seen_subcommand_from run' -l account -d 'what jobs are charged to' -r
complete -c tonnage -n '__fish_seen_subcommand_from run' -l detach -d 'submit and return at once; --resume continues the run'
complete -c tonnage -n '__fish_seen_subcommand_from run' -l dry-run -d 'print the plan and the time and space it takes; write nothing'
complete -c tonnage -n '__fish_seen_subcommand_from run' -l out -d 'run directory to make' -r
complete -c tonnage -n '__fish_seen_subcommand_from run' -l json -d 'print one JSON object on stdout and nothing else there'
complete -c tonnage -n '__fish_seen_subcommand_from run' -s v -l verbose -d 'print all tables and findings, not only the summary of a search'
complete -c tonnage -n '__fish_seen_subcommand_from run' -l no-report -d 'do not write report.html'
complete -c tonnage -n '__fish_seen_subcommand_from run' -l no-keep -d 'do not keep for placement what was found: load lines, what company costs'
complete -c tonnage -n '__fish_seen_subcommand_from company' -l share -d 'of its rate alone, for the one beside' -r
complete -c tonnage -n '__fish_seen_subcommand_from company' -l budget -d 'time for all of it' -r
complete -c tonnage -n '__fish_seen_subcommand_from company' -l seed -d 'seed of payloads and orders' -r
complete -c tonnage -n '__fish_seen_subcommand_from company' -l dry-run -d 'print the plan and the time and space it takes; write nothing'
complete -c tonnage -n '__fish_seen_subcommand_from company' -l out -d 'run directory to make' -r
complete -c tonnage -n '__fish_seen_subcommand_from company' -l json -d 'print one JSON object on stdout and nothing else there'
complete -c tonnage -n '__fish_seen_subcommand_from company' -s v -l verbose -d 'print all tables and findings, not only the summary of a search'
complete -c tonnage -n '__fish_seen_subcommand_from company' -l no-report -d 'do not write report.html'
complete -c tonnage -n '__fish_seen_subcommand_from company' -l no-keep -d 'do not keep for placement what was found: load lines, what company costs'
complete -c tonnage -n '__fish_seen_subcommand_from io500' -l tasks -d 'tasks in this process; under MPI, all its processes' -r
complete -c tonnage -n '__fish_seen_subcommand_from io500' -l repeat -d 'repeat the whole benchmark this often, which gives the score an interval' -r
complete -c tonnage -n '__fish_seen_subcommand_from io500' -l mode -d 'which phases' -x -a 'standard extended'
complete -c tonnage -n '__fish_seen_subcommand_from io500' -l timestamp -d 'name of the directories of this benchmark' -r
complete -c tonnage -n '__fish_seen_subcommand_from io500' -l resume -d 'continue an interrupted benchmark' -r
complete -c tonnage -n '__fish_seen_subcommand_from io500' -l dry-run -d 'check CONFIG, print what each phase would do, and create nothing'
complete -c tonnage -n '__fish_seen_subcommand_from io500' -l cleanup -d 'with --resume RESULTS: remove what the interrupted benchmark left, and do not continue it'
complete -c tonnage -n '__fish_seen_subcommand_from io500' -l verify -d 'check that the figures of RESULT agree with its hash; with CONFIG, also with that configuration' -r
complete -c tonnage -n '__fish_seen_subcommand_from io500' -l list -d 'print every section and key with its default'
complete -c tonnage -n '__fish_seen_subcommand_from io500' -l json -d 'print one JSON object on stdout and nothing else there'
complete -c tonnage -n '__fish_seen_subcommand_from example' -l out -d 'write it to this file, which must not be there yet' -r
complete -c tonnage -n '__fish_seen_subcommand_from import' -f -a 'ior ior-operations mdtest io500 fio fio-text fio-terse fio-log elbencho elbencho-text elbencho-live iperf3 iperf3-text iozone vdbench warp dlio sob rados nextflow nextflow-timeline darshan'
complete -c tonnage -n '__fish_seen_subcommand_from import' -l factor -d 'value that the files do not state, such as snapshot=yes; a PATTERN selects files by name: snap-*:snapshot=yes. May be repeated; for one NAME the last match counts' -r
complete -c tonnage -n '__fish_seen_subcommand_from import' -l link -d 'rate of the link between the hosts and the storage, in bits or bytes; higher rates become findings' -r
complete -c tonnage -n '__fish_seen_subcommand_from import' -l out -d 'run directory to make' -r
complete -c tonnage -n '__fish_seen_subcommand_from import' -l json -d 'print one JSON object on stdout and nothing else there'
complete -c tonnage -n '__fish_seen_subcommand_from import' -l no-report -d 'do not write report.html'
complete -c tonnage -n '__fish_seen_subcommand_from clean' -l yes -d 'do not ask'
complete -c tonnage -n '__fish_seen_subcommand_from clean' -l force -d 'also remove files of a run that cannot be proved to have ended; make sure that it has'
complete -c tonnage -n '__fish_seen_subcommand_from clean' -l kept -d 'also remove directories that were kept for later runs, such as those of mdtest -C'
complete -c tonnage -n '__fish_seen_subcommand_from report' -l storage -d 'report on one storage: its name as `tonnage history` prints it, a directory on it, or auto if all runs measured the same one' -r
complete -c tonnage -n '__fish_seen_subcommand_from report' -l out -d 'also write an HTML page with the figure' -r
complete -c tonnage -n '__fish_seen_subcommand_from report' -l json -d 'print one JSON object on stdout and nothing else there'
complete -c tonnage -n '__fish_seen_subcommand_from report' -s v -l verbose -d 'print all tables and findings, not only the summary of a search'
complete -c tonnage -n '__fish_seen_subcommand_from compare' -l of -d 'what the verdicts are about: the system, or only these two runs, which says nothing about other days' -x -a 'system runs'
complete -c tonnage -n '__fish_seen_subcommand_from compare' -l threshold -d 'smallest change of a throughput that counts as a change' -r
complete -c tonnage -n '__fish_seen_subcommand_from compare' -l per -d 'divide rates by disks, servers, nodes or links: as [normalise] of the runs\' campaigns says (disk), or one for each side (disk=60,84; link=1Gbit/s,10Gbit/s)' -r
complete -c tonnage -n '__fish_seen_subcommand_from compare' -l fail-if -d 'exit with 1 if a setting has this verdict or failed on the newer side; with 2 if no verdict is possible or the workloads differ' -x -a 'slower faster changed'
complete -c tonnage -n '__fish_seen_subcommand_from compare' -l out -d 'also write an HTML page with a forest plot' -r
complete -c tonnage -n '__fish_seen_subcommand_from compare' -l json -d 'print one JSON object on stdout and nothing else there'
complete -c tonnage -n '__fish_seen_subcommand_from history' -l servers -d 'show file servers instead, from the records of `tonnage watch`: when each was above its load line, whose jobs ran there, and how much it carried'
complete -c tonnage -n '__fish_seen_subcommand_from history' -l since -d 'with --servers: begin at this date, or this long ago' -r
complete -c tonnage -n '__fish_seen_subcommand_from history' -l threshold -d 'smallest change of a throughput that counts as a change' -r
complete -c tonnage -n '__fish_seen_subcommand_from history' -l per -d 'divide rates by disks, servers, nodes or links: as [normalise] of each run\'s campaign says (disk), or one for each DIR, for all runs in it (disk=60,84; link=10Gbit/s)' -r
complete -c tonnage -n '__fish_seen_subcommand_from history' -l fail-if -d 'exit with 1 if the newest change of a setting has this verdict or its newest run failed; with 2 if no verdict is possible' -x -a 'slower faster changed'
complete -c tonnage -n '__fish_seen_subcommand_from history' -l out -d 'also write an HTML page with the figure' -r
complete -c tonnage -n '__fish_seen_subcommand_from history' -l site -d 'read this site file and no other' -r
complete -c tonnage -n '__fish_seen_subcommand_from history' -l json -d 'print one JSON object on stdout and nothing else there'
complete -c tonnage -n '__fish_seen_subcommand_from crossover' -l op -d 'only these operations: write, read, open-write-close' -r
complete -c tonnage -n '__fish_seen_subcommand_from crossover' -l nodes -d 'also print which tier is faster on this many nodes' -r
complete -c tonnage -n '__fish_seen_subcommand_from crossover' -l shared -d 'the one of A and B that all nodes share, if the records do not show it' -r
complete -c tonnage -n '__fish_seen_subcommand_from crossover' -l per-node -d 'use this rate of one node on its own tier' -r
complete -c tonnage -n '__fish_seen_subcommand_from crossover' -l ceiling -d 'use this upper bound of the shared tier' -r
complete -c tonnage -n '__fish_seen_subcommand_from crossover' -l per -d 'also divide the rates by the size of each tier, one for A and one for B (disk=2,600; link=25Gbit/s,400Gbit/s): of one node on its own tier, of all on the shared one. THING alone takes them from [normalise] of the campaigns' -r
complete -c tonnage -n '__fish_seen_subcommand_from crossover' -l out -d 'also write an HTML page with the figure' -r
complete -c tonnage -n '__fish_seen_subcommand_from crossover' -l json -d 'print one JSON object on stdout and nothing else there'
complete -c tonnage -n '__fish_seen_subcommand_from project' -l tasks -d 'tasks in all' -r
complete -c tonnage -n '__fish_seen_subcommand_from project' -l nodes -d 'number of nodes' -r
complete -c tonnage -n '__fish_seen_subcommand_from project' -l op -d 'only these operations' -r
complete -c tonnage -n '__fish_seen_subcommand_from project' -l per -d 'also divide by a number of things, such as disk=10' -r
complete -c tonnage -n '__fish_seen_subcommand_from project' -l link -d 'rate of the link of each node, such as 10Gbit/s; it is a ceiling' -r
complete -c tonnage -n '__fish_seen_subcommand_from project' -l out -d 'also write an HTML page with the figure' -r
complete -c tonnage -n '__fish_seen_subcommand_from project' -l json -d 'print one JSON object on stdout and nothing else there'
complete -c tonnage -n '__fish_seen_subcommand_from demand' -l path -d 'compare with the load line of PATH' -r
complete -c tonnage -n '__fish_seen_subcommand_from demand' -l file-system -d 'use the job\'s calls on this mount point' -r
complete -c tonnage -n '__fish_seen_subcommand_from demand' -l campaign -d 'write a campaign that makes the same demand' -r
complete -c tonnage -n '__fish_seen_subcommand_from demand' -l target -d 'the directory that the campaign measures' -r
complete -c tonnage -n '__fish_seen_subcommand_from demand' -l sweep -d 'the campaign also has 1, 2, 4 ... up to twice the job\'s tasks, to find its load line'
complete -c tonnage -n '__fish_seen_subcommand_from demand' -l replayed -d 'compare the job with a run of that campaign, or a log of it, counter by counter' -r
complete -c tonnage -n '__fish_seen_subcommand_from demand' -l site -d 'read this site file and no other' -r
complete -c tonnage -n '__fish_seen_subcommand_from demand' -l out -d 'also write an HTML page with the figure' -r
complete -c tonnage -n '__fish_seen_subcommand_from demand' -l json -d 'print one JSON object on stdout and nothing else there'
complete -c tonnage -n '__fish_seen_subcommand_from verify' -l json -d 'print one JSON object on stdout and nothing else there'
complete -c tonnage -n '__fish_seen_subcommand_from serve' -l port -d 'where to listen, 0 for any free port' -r
complete -c tonnage -n '__fish_seen_subcommand_from serve' -l host -d 'address or name to listen on; if other hosts can reach it, viewers need the token in the printed address' -r
complete -c tonnage -n '__fish_seen_subcommand_from serve' -l token -d 'require the token on this host too, where other users could open the page'
complete -c tonnage -n '__fish_seen_subcommand_from serve' -l certificate -d 'serve https (TLS 1.2 or newer) with this certificate (PEM)' -r
complete -c tonnage -n '__fish_seen_subcommand_from serve' -l key -d 'the certificate\'s private key (PEM, without a password), which others may not read' -r
complete -c tonnage -n '__fish_seen_subcommand_from serve' -l site -d 'read this site file and no other' -r
complete -c tonnage -n '__fish_seen_subcommand_from submit' -s q -l queue -d 'queue or partition' -r
complete -c tonnage -n '__fish_seen_subcommand_from submit' -s I -l interactive -d 'run it in this terminal, with its input, output and signals, and wait for the end'
complete -c tonnage -n '__fish_seen_subcommand_from submit' -s K -l wait -d 'wait for the end of all copies, and exit with the worst status'
complete -c tonnage -n '__fish_seen_subcommand_from submit' -s o -l output -d 'file of its output; %J: job, %I: copy' -r
complete -c tonnage -n '__fish_seen_subcommand_from submit' -s e -l error -d 'file of its errors' -r
complete -c tonnage -n '__fish_seen_subcommand_from submit' -s n -l tasks -d 'number of slots' -r
complete -c tonnage -n '__fish_seen_subcommand_from submit' -s J -l name -d 'name of the job' -r
complete -c tonnage -n '__fish_seen_subcommand_from submit' -l input -d 'file of its standard input' -r
complete -c tonnage -n '__fish_seen_subcommand_from submit' -l time-limit -d 'the scheduler ends the job after this time' -r
complete -c tonnage -n '__fish_seen_subcommand_from submit' -l account -d 'account that is charged' -r
complete -c tonnage -n '__fish_seen_subcommand_from submit' -l memory -d 'memory of the job on its host, at most' -r
complete -c tonnage -n '__fish_seen_subcommand_from submit' -l gpus -d 'number of GPUs on its host' -r
complete -c tonnage -n '__fish_seen_subcommand_from submit' -l dependency -d 'start after other jobs: afterok:JOB,afterany:JOB; also afternotok, and after (JOB has started). With ? instead of the comma one of them is enough' -r
complete -c tonnage -n '__fish_seen_subcommand_from submit' -l mail -d 'the scheduler sends e-mail when the job begins, ends or fails' -r
complete -c tonnage -n '__fish_seen_subcommand_from submit' -l mail-to -d 'address for that e-mail' -r
complete -c tonnage -n '__fish_seen_subcommand_from submit' -l exclusive -d 'no other job runs on its host at the same time'
complete -c tonnage -n '__fish_seen_subcommand_from submit' -l scheduler-options -d 'options of the scheduler\'s own command (sbatch, bsub, qsub, flux submit), split as a shell does' -r
complete -c tonnage -n '__fish_seen_subcommand_from submit' -l copies -d 'number of copies to run, or their numbers; the variable TONNAGE_COPY has a copy\'s own number' -r
complete -c tonnage -n '__fish_seen_subcommand_from submit' -l cap -d 'copies that run at once: a number, or auto for the load line' -r
complete -c tonnage -n '__fish_seen_subcommand_from submit' -l path -d 'place the job by the data at PATH' -r
complete -c tonnage -n '__fish_seen_subcommand_from submit' -l profile -d 'run directory that measured the program, or its Darshan log: gives the demand of one copy' -r
complete -c tonnage -n '__fish_seen_subcommand_from submit' -l transfer -d 'bytes of one operation; the load line of the nearest transfer size is used' -r
complete -c tonnage -n '__fish_seen_subcommand_from submit' -l io-share -d 'share of its time that it waits for storage when it runs alone' -r
complete -c tonnage -n '__fish_seen_subcommand_from submit' -l anywhere -d 'submit also if the file server is unknown, or no host next to it takes the job'
complete -c tonnage -n '__fish_seen_subcommand_from submit' -l key -d 'name of this submission; one name is never submitted twice' -r
complete -c tonnage -n '__fish_seen_subcommand_from submit' -l dry-run -d 'print the decision and the command; submit nothing'
complete -c tonnage -n '__fish_seen_subcommand_from submit' -l scheduler -d 'scheduler to use' -x -a 'auto slurm lsf pbs flux local'
complete -c tonnage -n '__fish_seen_subcommand_from submit' -l local-wait -d 'longest expected wait for a slot next to the data' -r
complete -c tonnage -n '__fish_seen_subcommand_from submit' -l site -d 'read this site file and no other' -r
complete -c tonnage -n '__fish_seen_subcommand_from submit' -l json -d 'print one JSON object on stdout and nothing else there'
complete -c tonnage -n '__fish_seen_subcommand_from where' -l transfer -d 'bytes of one operation; the load line of the nearest transfer size is shown' -r
complete -c tonnage -n '__fish_seen_subcommand_from where' -l site -d 'read this site file and no other' -r
complete -c tonnage -n '__fish_seen_subcommand_from where' -l json -d 'print one JSON object on stdout and nothing else there'
complete -c tonnage -n '__fish_seen_subcommand_from load' -l watch -d 'update the display until Ctrl-C'
complete -c tonnage -n '__fish_seen_subcommand_from load' -l every -d 'interval between updates, with --watch or --metrics' -r
complete -c tonnage -n '__fish_seen_subcommand_from load' -l metrics -d 'serve the figures to Prometheus on 127.0.0.1:PORT, 0 for any' -r
complete -c tonnage -n '__fish_seen_subcommand_from load' -l site -d 'read this site file and no other' -r
complete -c tonnage -n '__fish_seen_subcommand_from load' -l json -d 'print one JSON object on stdout and nothing else there'
complete -c tonnage -n '__fish_seen_subcommand_from watch' -l every -d 'interval between checks' -r
complete -c tonnage -n '__fish_seen_subcommand_from watch' -l metrics -d 'serve the figures to Prometheus on 127.0.0.1:PORT, 0 for any' -r
complete -c tonnage -n '__fish_seen_subcommand_from watch' -l once -d 'check once, print the state of each server, and keep nothing'
complete -c tonnage -n '__fish_seen_subcommand_from watch' -l site -d 'read this site file and no other' -r
complete -c tonnage -n '__fish_seen_subcommand_from watch' -l json -d 'print one JSON object a line for each event, and nothing else on stdout'
complete -c tonnage -n '__fish_seen_subcommand_from jobs' -s d -l done -d 'also jobs that ended recently'
complete -c tonnage -n '__fish_seen_subcommand_from jobs' -s u -l user -d 'jobs of this user, or of all users' -r
complete -c tonnage -n '__fish_seen_subcommand_from jobs' -l scheduler -d 'scheduler to use' -x -a 'auto slurm lsf pbs flux local'
complete -c tonnage -n '__fish_seen_subcommand_from jobs' -l site -d 'read this site file and no other' -r
complete -c tonnage -n '__fish_seen_subcommand_from jobs' -l json -d 'print one JSON object on stdout and nothing else there'
complete -c tonnage -n '__fish_seen_subcommand_from cancel' -l any -d 'also cancel your jobs that Tonnage did not submit'
complete -c tonnage -n '__fish_seen_subcommand_from cancel' -l scheduler -d 'scheduler to use' -x -a 'auto slurm lsf pbs flux local'
complete -c tonnage -n '__fish_seen_subcommand_from cancel' -l site -d 'read this site file and no other' -r
complete -c tonnage -n '__fish_seen_subcommand_from cancel' -l json -d 'print one JSON object on stdout and nothing else there'
complete -c tonnage -n '__fish_seen_subcommand_from queues' -l scheduler -d 'scheduler to use' -x -a 'auto slurm lsf pbs flux local'
complete -c tonnage -n '__fish_seen_subcommand_from queues' -l site -d 'read this site file and no other' -r
complete -c tonnage -n '__fish_seen_subcommand_from queues' -l json -d 'print one JSON object on stdout and nothing else there'
complete -c tonnage -n '__fish_seen_subcommand_from doctor' -l site -d 'read this site file and no other' -r
complete -c tonnage -n '__fish_seen_subcommand_from doctor' -l hosts -d 'check these hosts: a,b,c or node[1-3]' -r
complete -c tonnage -n '__fish_seen_subcommand_from doctor' -l within -d 'hosts that have not answered by then are left out' -r
complete -c tonnage -n '__fish_seen_subcommand_from doctor' -l via -d 'how to reach the hosts' -x -a 'ssh slurm mpi'
complete -c tonnage -n '__fish_seen_subcommand_from doctor' -l target -d 'check this directory on each host; a file of 64 KiB is created there and removed' -r
complete -c tonnage -n '__fish_seen_subcommand_from doctor' -l json -d 'print one JSON object on stdout and nothing else there'
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from run' -l from -d 'source tree' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from run' -l to -d 'destination tree; created if its parent exists' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from run' -l name -d 'name of the mover on this host' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from run' -l state -d 'directory of the journal, on node-local storage' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from run' -l trees-changed -d 'continue although a tree is not the same directory as before; files that are missing at the destination are copied again'
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from run' -l include -d 'stage only what matches, relative to the source' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from run' -l exclude -d 'do not stage what matches' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from run' -l first -d 'copy matching files before all others, in the order of these options' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from run' -l order -d 'which waiting file is copied next' -x -a 'oldest newest smallest largest'
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from run' -l check -d 'how a copy is verified: not at all, by a checksum of the written data, or of the data read back from the destination (the default with --delete)' -x -a 'none written read-back'
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from run' -l overwrite -d 'files at the destination that may be replaced, besides this mover\'s own' -x -a 'never older always'
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from run' -l marker -d 'a file that matches appears only after everything else below its directory is safe' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from run' -l delete -d 'when a verified file is deleted from the source: never, once it is safe, or, above --high, the oldest first' -x -a 'never done high-water'
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from run' -l drop-attributes -d 'also delete files with attributes (xattrs, access lists, owner) that the destination does not accept'
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from run' -l high -d 'usage of the source\'s file system above which it counts as full' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from run' -l low -d 'usage down to which --delete high-water deletes' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from run' -l limit -d 'upper bound: 200MB/s, 100files/s, both with a comma between, 0 (paused)' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from run' -l workers -d 'threads that copy' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from run' -l gentle -d 'copy more slowly while the application\'s own I/O or processor time suffers' -x -a 'auto off'
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from run' -l deadline -d 'time to continue, by priority, after SIGTERM, `stage stop` or the end of the application' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from run' -l log -d 'file for log lines in Spectral\'s format' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from run' -l metrics -d 'serve Prometheus on 127.0.0.1:PORT' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from start' -l from -d 'source tree' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from start' -l to -d 'destination tree; created if its parent exists' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from start' -l name -d 'name of the mover on this host' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from start' -l state -d 'directory of the journal, on node-local storage' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from start' -l trees-changed -d 'continue although a tree is not the same directory as before; files that are missing at the destination are copied again'
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from start' -l foreground -d 'run in the foreground, with a progress panel'
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from start' -l include -d 'stage only what matches, relative to the source' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from start' -l exclude -d 'do not stage what matches' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from start' -l first -d 'copy matching files before all others, in the order of these options' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from start' -l order -d 'which waiting file is copied next' -x -a 'oldest newest smallest largest'
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from start' -l check -d 'how a copy is verified: not at all, by a checksum of the written data, or of the data read back from the destination (the default with --delete)' -x -a 'none written read-back'
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from start' -l overwrite -d 'files at the destination that may be replaced, besides this mover\'s own' -x -a 'never older always'
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from start' -l marker -d 'a file that matches appears only after everything else below its directory is safe' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from start' -l delete -d 'when a verified file is deleted from the source: never, once it is safe, or, above --high, the oldest first' -x -a 'never done high-water'
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from start' -l drop-attributes -d 'also delete files with attributes (xattrs, access lists, owner) that the destination does not accept'
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from start' -l high -d 'usage of the source\'s file system above which it counts as full' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from start' -l low -d 'usage down to which --delete high-water deletes' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from start' -l limit -d 'upper bound: 200MB/s, 100files/s, both with a comma between, 0 (paused)' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from start' -l workers -d 'threads that copy' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from start' -l gentle -d 'copy more slowly while the application\'s own I/O or processor time suffers' -x -a 'auto off'
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from start' -l deadline -d 'time to continue, by priority, after SIGTERM, `stage stop` or the end of the application' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from start' -l log -d 'file for log lines in Spectral\'s format' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from start' -l metrics -d 'serve Prometheus on 127.0.0.1:PORT' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from status' -l from -d 'the mover that reads DIR' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from status' -l to -d 'the mover that writes DIR' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from status' -l name -d 'the mover of this name' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from status' -l state -d 'the mover whose journal is in DIR' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from status' -l json -d 'print one JSON object on stdout and nothing else there'
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from status' -l watch -d 'update a progress panel until the mover ends'
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from wait' -l from -d 'the mover that reads DIR' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from wait' -l to -d 'the mover that writes DIR' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from wait' -l name -d 'the mover of this name' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from wait' -l state -d 'the mover whose journal is in DIR' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from wait' -l timeout -d 'give up after TIME' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from stop' -l from -d 'the mover that reads DIR' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from stop' -l to -d 'the mover that writes DIR' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from stop' -l name -d 'the mover of this name' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from stop' -l state -d 'the mover whose journal is in DIR' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from stop' -l deadline -d 'time that it may continue; 0 ends it now' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from limit' -l from -d 'the mover that reads DIR' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from limit' -l to -d 'the mover that writes DIR' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from limit' -l name -d 'the mover of this name' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from limit' -l state -d 'the mover whose journal is in DIR' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from verify' -l to -d 'destination tree' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from verify' -l threads -d 'files that are read at the same time' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from verify' -l json -d 'print one JSON object on stdout and nothing else there'
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from resume' -l from -d 'the mover that reads DIR' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from resume' -l to -d 'the mover that writes DIR' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from resume' -l name -d 'the mover of this name' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from resume' -l state -d 'the mover whose journal is in DIR' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from resume' -l wait -d 'in the foreground: copy what is there, and end when everything is safe'
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from resume' -l trees-changed -d 'continue although a tree is not the same directory as before; files that are missing at the destination are copied again'
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from resume' -l drop-attributes -d 'also delete files with attributes (xattrs, access lists, owner) that the destination does not accept'
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from in' -l from -d 'source tree' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from in' -l to -d 'destination tree; created if its parent exists' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from in' -l name -d 'name of the mover on this host' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from in' -l state -d 'directory of the journal, on node-local storage' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from in' -l trees-changed -d 'continue although a tree is not the same directory as before; files that are missing at the destination are copied again'
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from in' -l include -d 'stage only what matches, relative to the source' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from in' -l exclude -d 'do not stage what matches' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from in' -l first -d 'copy matching files before all others, in the order of these options' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from in' -l order -d 'which waiting file is copied next' -x -a 'oldest newest smallest largest'
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from in' -l check -d 'how a copy is verified: not at all, by a checksum of the written data, or of the data read back from the destination (the default with --delete)' -x -a 'none written read-back'
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from in' -l overwrite -d 'files at the destination that may be replaced, besides this mover\'s own' -x -a 'never older always'
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from in' -l limit -d 'upper bound: 200MB/s, 100files/s, both with a comma between, 0 (paused)' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from in' -l workers -d 'threads that copy' -r
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from in' -l gentle -d 'copy more slowly while the application\'s own I/O or processor time suffers' -x -a 'auto off'
complete -c tonnage -n '__fish_seen_subcommand_from stage; and __fish_seen_subcommand_from list' -l json -d 'print one JSON object on stdout and nothing else there'
complete -c tonnage -n '__fish_seen_subcommand_from completions' -f -a 'bash zsh fish'
complete -c tonnage -n '__fish_seen_subcommand_from schema' -f -a 'json compare history crossover project storage verify demand submit where load watch servers jobs cancel queues doctor campaign site'
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
complete -c tonnage -n '__fish_seen_subcommand_from mdtest' -s a -d 'how files are reached: POSIX, MPIIO; DUMMY touches none' -r
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
complete -c tonnage -n '__fish_seen_subcommand_from iobsub' -s q -d 'quiet: print no messages and no receipt; before the name of a queue: that queue'
complete -c tonnage -n '__fish_seen_subcommand_from iobsub' -s I -d 'interactive: run it in this terminal, with its input, output and signals, and wait for the end'
complete -c tonnage -n '__fish_seen_subcommand_from iobsub' -o Ip -o Is -d 'the same with a pseudo-terminal'
complete -c tonnage -n '__fish_seen_subcommand_from iobsub' -s K -d 'wait for its end, and exit with its status'
complete -c tonnage -n '__fish_seen_subcommand_from iobsub' -s o -d 'file of its output; %J: job, %I: copy' -r
complete -c tonnage -n '__fish_seen_subcommand_from iobsub' -s e -d 'file of its errors' -r
complete -c tonnage -n '__fish_seen_subcommand_from iobsub' -s n -d 'number of slots' -r
complete -c tonnage -n '__fish_seen_subcommand_from iobsub' -s J -d 'name of the job; with [1-4,7,10-20:2]%3 behind it an array, three at once' -r
complete -c tonnage -n '__fish_seen_subcommand_from iobsub' -s i -d 'file of its input; %J: job, %I: copy' -r
complete -c tonnage -n '__fish_seen_subcommand_from iobsub' -o cwd -d 'directory in which it runs, and whose file server is used' -r
complete -c tonnage -n '__fish_seen_subcommand_from iobsub' -s m -d 'hosts instead of those next to the data; +N: preference, the highest first' -r
complete -c tonnage -n '__fish_seen_subcommand_from iobsub' -s W -d 'it is ended after this time' -r
complete -c tonnage -n '__fish_seen_subcommand_from iobsub' -s w -d 'condition on earlier jobs: done(1) && ended(2)' -r
complete -c tonnage -n '__fish_seen_subcommand_from iobsub' -s b -d 'earliest start time' -r
complete -c tonnage -n '__fish_seen_subcommand_from iobsub' -s M -d 'memory limit; in KB if no unit is given' -r
complete -c tonnage -n '__fish_seen_subcommand_from iobsub' -s R -d 'resources: rusage[mem=4GB], span[hosts=1]' -r
complete -c tonnage -n '__fish_seen_subcommand_from iobsub' -s P -d 'project or account that it is charged to' -r
complete -c tonnage -n '__fish_seen_subcommand_from iobsub' -s x -d 'no other job runs on its host at the same time'
complete -c tonnage -n '__fish_seen_subcommand_from iobsub' -s r -d 'it is started again if its host fails'
complete -c tonnage -n '__fish_seen_subcommand_from iobsub' -s B -d 'e-mail when it begins'
complete -c tonnage -n '__fish_seen_subcommand_from iobsub' -s N -d 'e-mail when it has ended'
complete -c tonnage -n '__fish_seen_subcommand_from iobsub' -s u -d 'address for e-mail; alone it implies -N' -r
complete -c tonnage -n '__fish_seen_subcommand_from iobsub' -s c -d 'limit of CPU time: with LSF' -r
complete -c tonnage -n '__fish_seen_subcommand_from iobsub' -s E -d 'command before the job: with LSF' -r
complete -c tonnage -n '__fish_seen_subcommand_from iobsub' -l queue -d 'queue or partition' -r
complete -c tonnage -n '__fish_seen_subcommand_from iobsub' -l anywhere -d 'submit also if the file server is unknown, or no host next to it takes the job'
complete -c tonnage -n '__fish_seen_subcommand_from lsload' -s l -d 'every index: also io, bio and rpc; names are not truncated'
complete -c tonnage -n '__fish_seen_subcommand_from lsload' -s w -d 'names are not truncated'
complete -c tonnage -n '__fish_seen_subcommand_from lsload' -s N -d 'run queues are divided by the number of CPUs; no CPU factors are known, so as -E'
complete -c tonnage -n '__fish_seen_subcommand_from lsload' -s E -d 'run queues are divided by the number of CPUs'
complete -c tonnage -n '__fish_seen_subcommand_from lsload' -s I -d 'these indices alone, like r1m:ut:bio' -r
complete -c tonnage -n '__fish_seen_subcommand_from lsload' -s n -d 'at most this many servers, the best first' -r
complete -c tonnage -n '__fish_seen_subcommand_from lsload' -s R -d 'servers that satisfy this resource requirement, in its order' -r
complete -c tonnage -n '__fish_seen_subcommand_from lsload' -s s -d 'show shared resources instead: tasks that load lines still carry, and licences; names may follow'
complete -c tonnage -n '__fish_seen_subcommand_from bjobs' -s u -d 'jobs of this user, or all' -r
complete -c tonnage -n '__fish_seen_subcommand_from bjobs' -s w -d 'names are not truncated'
complete -c tonnage -n '__fish_seen_subcommand_from bjobs' -s a -d 'also jobs that ended recently'
complete -c tonnage -n '__fish_seen_subcommand_from bjobs' -s r -d 'running jobs'
complete -c tonnage -n '__fish_seen_subcommand_from bjobs' -s p -d 'waiting jobs'
complete -c tonnage -n '__fish_seen_subcommand_from bjobs' -s s -d 'suspended jobs'
complete -c tonnage -n '__fish_seen_subcommand_from bjobs' -s d -d 'jobs that ended recently'
complete -c tonnage -n '__fish_seen_subcommand_from bjobs' -s J -d 'jobs of this name; * matches any text, align[3] is a copy' -r
complete -c tonnage -n '__fish_seen_subcommand_from bjobs' -s q -d 'jobs of this queue' -r
complete -c tonnage -n '__fish_seen_subcommand_from bjobs' -s m -d 'jobs that run on this host' -r
complete -c tonnage -n '__fish_seen_subcommand_from bjobs' -s l -d 'the long format: everything that is known'
complete -c tonnage -n '__fish_seen_subcommand_from bjobs' -s o -d 'these fields' -r
complete -c tonnage -n '__fish_seen_subcommand_from bjobs' -o noheader -d 'without the header line'
complete -c tonnage -n '__fish_seen_subcommand_from bjobs' -o json -d 'as JSON, with -o'
complete -c tonnage -n '__fish_seen_subcommand_from bjobs' -s X -d 'no effect: hosts are always shown by their full names'
complete -c tonnage -n '__fish_seen_subcommand_from bkill' -s J -d 'jobs of this name; * matches any text, align[3] is a copy' -r
complete -c tonnage -n '__fish_seen_subcommand_from bkill' -s q -d 'jobs of this queue' -r
complete -c tonnage -n '__fish_seen_subcommand_from bkill' -s m -d 'jobs that run on this host' -r
complete -c tonnage -n '__fish_seen_subcommand_from bkill' -s u -d 'only your own name is taken' -r
complete -c tonnage -n '__fish_seen_subcommand_from bkill' -s s -d 'signal' -r
complete -c tonnage -n '__fish_seen_subcommand_from bqueues' -s w -d 'names are not truncated'
complete -c tonnage -n '__fish_seen_subcommand_from bhosts' -s w -d 'names are not truncated'
complete -c tonnage -n '__fish_seen_subcommand_from compat' -f -a 'install'
