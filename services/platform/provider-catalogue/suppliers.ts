import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { formatId } from '../../domain/identifier.ts'
import { putProviders, type StoredProvider } from '../postgres/connect/providers.ts'
import type { Database } from '../postgres/database.ts'

/** Give the id of a supplier or of one of its tariffs from what names it: the same in every installation, and at every import. */
export const catalogueId = (kind: 'provider' | 'libraryTariff', ...name: readonly string[]): string =>
  formatId(
    kind,
    createHash('sha256')
      .update(JSON.stringify([kind, ...name]))
      .digest(),
  )

/** List the well-known suppliers that the service comes with, by country and name. Names are facts; logos are their owners'. */
export const bundledSuppliers = (): readonly StoredProvider[] => {
  const text = readFileSync(new URL('suppliers.json', import.meta.url), 'utf8')
  const byCountry = JSON.parse(text) as Readonly<Record<string, readonly string[]>>
  return Object.entries(byCountry).flatMap(([country, names]) =>
    names.map(displayName => ({
      id: catalogueId('provider', country, displayName),
      displayName,
      logoUrl: null,
      countries: [country],
      addressTypes: [],
      direct: null,
    })),
  )
}

/** Write the suppliers that are not there yet; what the operator has made of one stays. Gives how many are new. */
export const seedSuppliers = ({ operator }: Database, at: number): Promise<number> =>
  putProviders(operator, bundledSuppliers(), at, { skipExisting: true })
