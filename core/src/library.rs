//! Library calls that never synchronize, so that calls of them are not derived synchronizations.
