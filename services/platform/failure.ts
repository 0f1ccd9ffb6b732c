/**
 * The world did not answer: thrown by an adapter, which alone knows its vendor's errors.
 * `code` names what failed (`log_full`, `postgres_away`); `retriable` tells whether the same call may succeed later.
 */
export class Failure extends Error {
  readonly code: string
  readonly retriable: boolean

  constructor(code: string, message: string, options: { readonly retriable: boolean; readonly cause?: unknown }) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'Failure'
    this.code = code
    this.retriable = options.retriable
  }
}

export const isFailure = (error: unknown): error is Failure => error instanceof Failure
