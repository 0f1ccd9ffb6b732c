import { afterAll } from 'vitest'
import type { Result } from '../../../services/domain/refusal.ts'
import { changeTenant, type TenantTransaction, withTenant } from '../../../services/platform/postgres/transaction.ts'
import { makeTenants, openTestDatabase, type TestDatabase } from '../stores/postgres.ts'

/** Open a database for the tests of a file. Close it after the tests. */
export const useTestDatabase = async (): Promise<TestDatabase> => {
  const opened = await openTestDatabase()
  afterAll(() => opened[Symbol.asyncDispose]())
  return opened
}

/**
 * Open a database with an account for the tests of a file. `inLive` and `change` run a transaction in its live mode.
 */
export const useTenants = async () => {
  const { database } = await useTestDatabase()
  const { live, test } = await makeTenants(database)
  return {
    database,
    live,
    test,
    inLive: <T>(work: (transaction: TenantTransaction) => Promise<T>): Promise<T> => withTenant(database, live, work),
    change: <T>(work: (transaction: TenantTransaction) => Promise<Result<T>>): Promise<Result<T>> =>
      changeTenant(database, live, work),
  }
}
