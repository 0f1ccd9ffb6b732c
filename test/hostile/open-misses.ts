/** Names of inputs that missed the promise when last played: the suite counts them and does not play them. */
export const open: readonly string[] = []

/** Names of shares that missed the promise when last measured: another account's p99 was more than three times its p99 at rest. */
export const openShares: readonly string[] = []
