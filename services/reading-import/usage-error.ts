/** The arguments are wrong, and nothing was done. The message names the argument and a correct value. */
export class UsageError extends Error {}
