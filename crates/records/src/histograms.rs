//! Histograms as they are kept: HDR V2, deflated, each a line of the log in `latency/`.

use std::fs::File;
use std::io::{self, BufWriter, Write};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer, V2DeflateSerializer};
use serde::{Deserialize, Serialize};

use crate::histogram_tag::Tagged;
use crate::latency::LatencyRecorder;

/// The header line that says how many histograms follow, so that a file cut at the end of a line is still found out.
pub(crate) const COUNT_HEADER: &str = "[Histograms: ";

/// A histogram, ready to be written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Encoded {
    pub tag: Tagged,
    pub max_ns: u64,
    #[serde(with = "serde_bytes")]
    pub bytes: Vec<u8>,
}

/// Encodes one histogram after the other.
#[derive(Default)]
pub(crate) struct Encoder(V2DeflateSerializer);

impl Encoder {
    pub fn encode(&mut self, tag: Tagged, recorder: &LatencyRecorder) -> io::Result<Encoded> {
        let histogram = recorder.histogram();
        let bytes = self.serialized(&histogram)?;
        Ok(Encoded { tag, max_ns: histogram.max(), bytes })
    }

    pub fn bytes(&mut self, recorder: &LatencyRecorder) -> io::Result<Vec<u8>> {
        self.serialized(&recorder.histogram())
    }

    fn serialized(&mut self, histogram: &Histogram<u64>) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.0.serialize(histogram, &mut bytes).map_err(io::Error::other)?;
        Ok(bytes)
    }
}

/// Writes the log of `count` histograms that span `length_ns`.
pub(crate) fn write_log(
    file: &File,
    count: usize,
    histograms: impl Iterator<Item = io::Result<Encoded>>,
    length_ns: u64,
) -> io::Result<()> {
    let mut out = BufWriter::new(file);
    writeln!(out, "#[Histogram log format version 1.3]\n#{COUNT_HEADER}{count}]")?;
    let seconds = length_ns as f64 / 1e9;
    for histogram in histograms {
        let Encoded { tag, max_ns, bytes } = histogram?;
        // The format has the maximum as a decimal number.
        writeln!(out, "Tag={tag},0.000,{seconds:.3},{:.3},{}", max_ns as f64, STANDARD.encode(bytes))?;
    }
    out.flush()
}
