"""From judged rankings to what is decided: estimates, comparisons, rules, cutoffs, corrected means, label designs."""
