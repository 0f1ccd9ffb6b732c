type FailureOptions = { readonly retriable?: boolean; readonly cause?: unknown }

/**
 * An external system failed or did not answer.
 * Adapters throw this error, because only they know the errors of their vendor.
 * `code` names the failed system (`log_full`, `postgres_away`). `retriable` is true if the same call may succeed later.
 */
export class Failure extends Error {
  readonly code: string
  readonly retriable: boolean

  constructor(code: string, message: string, { retriable = false, cause }: FailureOptions = {}) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'Failure'
    this.code = code
    this.retriable = retriable
  }
}

export const isFailure = (error: unknown): error is Failure => error instanceof Failure

const codesOfWork = new Set(['work_thread_lost', 'clickhouse_timeout'])

/** Return whether the work itself can be the cause: the thread of the work ended, or a read of the work took too long. */
export const canComeFromWork = ({ code }: Failure): boolean => codesOfWork.has(code)

/** A setting is invalid. The message names the variable and the correction. */
export class ConfigError extends Error {}

/** The arguments are wrong, and nothing was done. The message names the argument and a correct value. */
export class UsageError extends Error {}
