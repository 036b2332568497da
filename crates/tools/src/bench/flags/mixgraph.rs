//! The distributions of `mixgraph`.

/// Hands the rows so far and these to the next group.
macro_rules! mixgraph {
    ([$($before:tt)*] $next:ident $($rest:ident)*) => {
        $next! { [
            $($before)*
            "mixgraph: reads, writes and scans as in a social graph" {
                mix_get_ratio: f64 = 1.0, "Share of reads.";
                mix_put_ratio: f64 = 0.0, "Share of writes.";
                mix_seek_ratio: f64 = 0.0, "Share of scans.";
                mix_max_scan_len: i64 = 10_000, "Entries of the longest scan.";
                mix_max_value_size: i64 = 1024, "Bytes of the largest value.";
                keyrange_num: i64 = 1, "Ranges of keys that are read by different shares.";
                keyrange_dist_a: f64 = 0.0, "a of the share of a range, a*exp(b*x) + c*exp(d*x).";
                keyrange_dist_b: f64 = 0.0, "b of it.";
                keyrange_dist_c: f64 = 0.0, "c of it.";
                keyrange_dist_d: f64 = 0.0, "d of it.";
                key_dist_a: f64 = 0.0, "a of the power law a*x^b that keys (of a range) are chosen by; 0: all alike.";
                key_dist_b: f64 = 0.0, "b of it.";
                value_theta: f64 = 0.0, "Location of the Pareto distribution of value sizes.";
                value_k: f64 = 0.2615, "Shape of it.";
                value_sigma: f64 = 25.45, "Scale of it.";
                iter_theta: f64 = 0.0, "Location of the Pareto distribution of scan lengths.";
                iter_k: f64 = 2.517, "Shape of it.";
                iter_sigma: f64 = 14.236, "Scale of it.";
                sine_mix_rate: bool = false, "Limit operations per second to a sine, sine_a*sin(sine_b*t + sine_c) + sine_d.";
                sine_mix_rate_interval_milliseconds: u64 = 10_000u64, "Milliseconds between two settings of that limit.";
                sine_mix_rate_noise: f64 = 0.0, "Share of sine_a that is added to the limit, or taken, at random.";
                sine_a: f64 = 1.0, "a of the sine, operations per second.";
                sine_b: f64 = 1.0, "b of it, radians per second.";
                sine_c: f64 = 0.0, "c of it, radians.";
                sine_d: f64 = 1.0, "d of it, operations per second.";
            }
        ] $($rest)* }
    };
}

pub(super) use mixgraph;
