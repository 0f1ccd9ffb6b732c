import pg from 'pg'
import { Failure } from '../failure.ts'

/** What an SQLSTATE says about the world, by its class, or by the whole code where the class says too little. */
const meanings: Readonly<
  Record<string, { readonly code: string; readonly message: string; readonly retriable: boolean }>
> = {
  '08': { code: 'postgres_away', message: 'The connection to PostgreSQL broke.', retriable: true },
  '25006': { code: 'postgres_away', message: 'This PostgreSQL only reads at present.', retriable: true },
  '57': { code: 'postgres_away', message: 'PostgreSQL is stopping or starting.', retriable: true },
  '57014': { code: 'postgres_timeout', message: 'A PostgreSQL statement ran out of time.', retriable: true },
  '55P03': { code: 'postgres_timeout', message: 'A PostgreSQL lock was not given in time.', retriable: true },
  '40': { code: 'postgres_conflict', message: 'PostgreSQL undid a transaction in favour of another.', retriable: true },
  '53': { code: 'postgres_full', message: 'PostgreSQL has run out of room or connections.', retriable: true },
  '58': { code: 'postgres_away', message: 'The machine of PostgreSQL reports an error of its own.', retriable: true },
  '28': { code: 'postgres_refused', message: 'PostgreSQL refuses this user or password.', retriable: false },
  '3D': { code: 'postgres_refused', message: 'PostgreSQL has no such database.', retriable: false },
  '42501': {
    code: 'postgres_refused',
    message: 'PostgreSQL does not give this user the right that is needed.',
    retriable: false,
  },
}

/**
 * Say what an error of the driver means. An error without SQLSTATE comes from the connection.
 * Broken constraints stay as they are, for whoever knows what the constraint says; so do wrong statements, which are bugs.
 */
export const classifyError = (error: unknown): unknown => {
  if (error instanceof Failure || error instanceof TypeError || error instanceof RangeError) return error
  if (!(error instanceof pg.DatabaseError))
    return new Failure('postgres_away', 'PostgreSQL does not answer.', { retriable: true, cause: error })
  const meaning = meanings[error.code ?? ''] ?? meanings[(error.code ?? '').slice(0, 2)]
  return meaning === undefined
    ? error
    : new Failure(meaning.code, meaning.message, { retriable: meaning.retriable, cause: error })
}

/** The name of the constraint that an error says was broken; null for any other error. */
export const brokenConstraint = (error: unknown): string | null =>
  error instanceof pg.DatabaseError && (error.code ?? '').startsWith('23') ? (error.constraint ?? null) : null
