//! The distributions of `mixgraph`.

/// Passes these rows, after the rows so far, to the next group.
macro_rules! mixgraph {
    ([$($before:tt)*] $next:ident $($rest:ident)*) => {
        $next! { [
            $($before)*
            "mixgraph: reads, writes and scans as in a social graph" {
                mix_get_ratio: f64 = 1.0, "The share of reads.";
                mix_put_ratio: f64 = 0.0, "The share of writes.";
                mix_seek_ratio: f64 = 0.0, "The share of scans.";
                mix_max_scan_len: i64 = 10_000, "The number of entries of the longest scan.";
                mix_max_value_size: i64 = 1024, "The size of the largest value in bytes.";
                keyrange_num: i64 = 1, "The number of key ranges with different shares of the reads.";
                keyrange_dist_a: f64 = 0.0, "The parameter a of the share of a range, a*exp(b*x) + c*exp(d*x).";
                keyrange_dist_b: f64 = 0.0, "The parameter b of the share of a range.";
                keyrange_dist_c: f64 = 0.0, "The parameter c of the share of a range.";
                keyrange_dist_d: f64 = 0.0, "The parameter d of the share of a range.";
                key_dist_a: f64 = 0.0, "The parameter a of the power law a*x^b that keys (of a range) are chosen by; 0: a uniform distribution.";
                key_dist_b: f64 = 0.0, "The parameter b of that power law.";
                value_theta: f64 = 0.0, "The location of the Pareto distribution of value sizes.";
                value_k: f64 = 0.2615, "The shape of that distribution.";
                value_sigma: f64 = 25.45, "The scale of that distribution.";
                iter_theta: f64 = 0.0, "The location of the Pareto distribution of scan lengths.";
                iter_k: f64 = 2.517, "The shape of that distribution.";
                iter_sigma: f64 = 14.236, "The scale of that distribution.";
                sine_mix_rate: bool = false, "Limit the operations per second by a sine, sine_a*sin(sine_b*t + sine_c) + sine_d.";
                sine_mix_rate_interval_milliseconds: u64 = 10_000u64, "The time in milliseconds between two updates of that limit.";
                sine_mix_rate_noise: f64 = 0.0, "The share of sine_a that is randomly added to or subtracted from the limit.";
                sine_a: f64 = 1.0, "The parameter a of the sine in operations per second.";
                sine_b: f64 = 1.0, "The parameter b of the sine in radians per second.";
                sine_c: f64 = 0.0, "The parameter c of the sine in radians.";
                sine_d: f64 = 1.0, "The parameter d of the sine in operations per second.";
            }
        ] $($rest)* }
    };
}

pub(super) use mixgraph;
