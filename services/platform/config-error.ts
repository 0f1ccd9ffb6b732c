/** A setting that cannot be used; the message names the variable and what to change. */
export class ConfigError extends Error {}
