//! Loops over rows of few groups: neighbouring rows, often of one group, go to different lanes, so that none waits for
//! the sum of the other.

/// Largest number of groups that have lanes.
pub const FEW: usize = 64;
pub const LANES: usize = 4;

/// Calls `add(lane, group, value)` for all rows, the lanes taking turns. All groups are below [`FEW`].
#[inline(always)]
pub fn in_lanes<V: Copy>(groups: &[usize], values: &[V], mut add: impl FnMut(usize, usize, V)) {
    let (fours, rest) = groups.as_chunks::<LANES>();
    let (value_fours, value_rest) = values.as_chunks::<LANES>();
    for (four, values) in fours.iter().zip(value_fours) {
        for lane in 0..LANES {
            add(lane, four[lane] % FEW, values[lane]);
        }
    }
    for (group, value) in rest.iter().zip(value_rest) {
        add(0, group % FEW, *value);
    }
}

/// Number of rows in each group. All groups are below [`FEW`].
pub fn count(groups: &[usize]) -> [i64; FEW] {
    let mut lanes = [[0i64; FEW]; LANES];
    let (fours, rest) = groups.as_chunks::<LANES>();
    for four in fours {
        for lane in 0..LANES {
            lanes[lane][four[lane] % FEW] += 1;
        }
    }
    rest.iter().for_each(|group| lanes[0][group % FEW] += 1);
    std::array::from_fn(|group| lanes.iter().map(|lane| lane[group]).sum())
}
