// A chain, as calling variants of one genome: each step waits for the one before it, so that nothing hides the engine.
params.size = '1m'

process reads {
    output:
    path 'reads.txt'

    script:
    "head -c ${params.size} /dev/urandom | base64 > reads.txt"
}

process order {
    input:
    path reads

    output:
    path 'ordered.txt'

    script:
    "LC_ALL=C sort ${reads} > ordered.txt"
}

process index {
    input:
    path ordered

    output:
    tuple path(ordered), path('ordered.idx')

    script:
    "cut -c 1-8 ${ordered} | nl > ordered.idx"
}

process call {
    input:
    tuple path(ordered), path(index)

    output:
    path 'calls.gz'

    script:
    "grep -c AC ${ordered} > count || true; gzip -c ${index} > calls.gz"
}

process check {
    input:
    path calls

    output:
    path 'sum'

    script:
    "gzip -dc ${calls} | cksum > sum"
}

workflow {
    reads | order | index | call | check
}
