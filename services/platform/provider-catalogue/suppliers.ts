import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { formatId } from '../../domain/identifier.ts'
import type { Database } from '../postgres/database.ts'
import { putProviders, type StoredProvider } from '../postgres/registry/providers.ts'

/** Return the id of a supplier or tariff from its name. It is the same in each installation and at each import. */
export const catalogueId = (kind: 'provider' | 'libraryTariff', ...name: readonly string[]): string =>
  formatId(
    kind,
    createHash('sha256')
      .update(JSON.stringify([kind, ...name]))
      .digest(),
  )

/** Return the bundled suppliers by country and name. They have no logos, because logos belong to their owners. */
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

/** Add missing suppliers and return their number. Existing suppliers are not changed. */
export const seedSuppliers = ({ operator }: Database, at: number): Promise<number> =>
  putProviders(operator, bundledSuppliers(), at, { skipExisting: true })
