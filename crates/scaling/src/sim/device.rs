//! A disk that makes data durable.

use super::Time;

/// The times at which a device's lanes become free. There is a lane for each sync that
/// can be in progress.
#[derive(Debug)]
pub struct Device {
    lanes: Vec<Time>,
}

impl Device {
    /// An idle device.
    #[must_use]
    pub fn new(lanes: usize) -> Self {
        Device {
            lanes: vec![0; lanes.max(1)],
        }
    }

    /// Requests an operation of `duration` at `now`; returns when it is done. The lane that
    /// becomes free first does it.
    pub fn serve(&mut self, now: Time, duration: Time) -> Time {
        let lane = self.lanes.iter_mut().min_by_key(|free| **free);
        let free = lane.expect("at least one");
        *free = now.max(*free) + duration;
        *free
    }
}

#[cfg(test)]
mod tests {
    use super::Device;

    #[test]
    fn a_device_does_as_much_at_once_as_it_has_lanes() {
        let mut one = Device::new(1);
        assert_eq!([one.serve(0, 10), one.serve(5, 10)], [10, 20]);
        let mut two = Device::new(2);
        let ends = [two.serve(0, 10), two.serve(5, 10), two.serve(6, 10)];
        assert_eq!(ends, [10, 15, 20]);
    }
}
