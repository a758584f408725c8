//! Searching near where one already is.

/// The first of `from..end` for which `test` does not hold, where it holds for all before that one: galloping search
/// (Bentley and Yao, 1976), the first step `stride` (at least 1) wide. Costs the logarithm of the distance.
pub fn first_not(from: usize, end: usize, stride: usize, mut test: impl FnMut(usize) -> bool) -> usize {
    // The answer is in `low..=high`.
    let (mut low, mut step) = (from.min(end), stride);
    let mut high = loop {
        let probe = low + step - 1;
        if probe >= end {
            break end;
        }
        if !test(probe) {
            break probe;
        }
        low = probe + 1;
        step *= 2;
    };
    while low < high {
        let middle = low.midpoint(high);
        if test(middle) { low = middle + 1 } else { high = middle }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::first_not;

    #[test]
    fn finds_the_border_from_everywhere() {
        for end in 0..40 {
            for border in 0..=end {
                for from in 0..=border {
                    for stride in [1, 2, 7, 100] {
                        assert_eq!(first_not(from, end, stride, |i| i < border), border);
                    }
                }
            }
        }
    }
}
