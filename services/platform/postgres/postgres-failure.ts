import pg from 'pg'
import { Failure } from '../failure.ts'

/** Failures by SQLSTATE: by its class, or by the whole code if the class is too general. */
const meanings: Readonly<
  Record<string, { readonly code: string; readonly message: string; readonly retriable: boolean }>
> = {
  '08': { code: 'postgres_away', message: 'The connection to PostgreSQL broke.', retriable: true },
  '25006': { code: 'postgres_away', message: 'PostgreSQL is read-only.', retriable: true },
  '57': { code: 'postgres_away', message: 'PostgreSQL is stopping or starting.', retriable: true },
  '57014': { code: 'postgres_timeout', message: 'A PostgreSQL statement timed out.', retriable: true },
  '55P03': { code: 'postgres_timeout', message: 'A PostgreSQL lock timed out.', retriable: true },
  '40': {
    code: 'postgres_conflict',
    message: 'PostgreSQL aborted a transaction because of a conflict.',
    retriable: true,
  },
  '53': {
    code: 'postgres_full',
    message: 'PostgreSQL has no free disk space, memory or connections.',
    retriable: true,
  },
  '58': { code: 'postgres_away', message: 'The operating system of PostgreSQL reports an error.', retriable: true },
  '28': { code: 'postgres_refused', message: 'PostgreSQL refuses this user or password.', retriable: false },
  '3D': { code: 'postgres_refused', message: 'The PostgreSQL database does not exist.', retriable: false },
  '42501': {
    code: 'postgres_refused',
    message: 'The PostgreSQL user lacks a required right.',
    retriable: false,
  },
}

/**
 * Convert an error of the driver to a `Failure`. An error without SQLSTATE comes from the connection. Violated
 * constraints and wrong statements are returned unchanged: the caller reads the constraint, and a wrong statement is a
 * bug.
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

/** Return the name of the violated constraint; null for any other error. */
export const brokenConstraint = (error: unknown): string | null =>
  error instanceof pg.DatabaseError && (error.code ?? '').startsWith('23') ? (error.constraint ?? null) : null
