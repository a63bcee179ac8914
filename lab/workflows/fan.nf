// Fan out and in, as an analysis of many samples: each is packed by a task of its own, one task brings all together.
params.samples = 8
params.size = '256k'

process prepare {
    input:
    val number

    output:
    path "sample_${number}.txt"

    script:
    "head -c ${params.size} /dev/urandom | base64 > sample_${number}.txt"
}

process pack {
    tag "${sample.baseName}"

    input:
    path sample

    output:
    path "${sample.baseName}.gz"

    script:
    "gzip -c ${sample} > ${sample.baseName}.gz; sync ${sample.baseName}.gz"
}

process gather {
    input:
    path packed

    output:
    path 'all.tar'

    script:
    'tar cf all.tar *.gz'
}

workflow {
    Channel.of(1..(params.samples as int)) | prepare | pack | collect | gather
}
