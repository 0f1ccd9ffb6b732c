import { describe, expect, it } from 'vitest'
import { shownTariff, structureType, tariffStatusAt } from '../../../../services/contract/registry/location-view.ts'
import type { Tariff, TimeBand } from '../../../../services/domain/tariff/tariff.ts'

const year = (n: number) => Date.UTC(n, 0, 1)
type Contract = Pick<Tariff, 'id' | 'direction' | 'type' | 'contractStart' | 'contractEnd'>
const tariff = (id: string, from: number | null, to: number | null): Contract => ({
  id,
  direction: 'IMPORT',
  type: 'COMMODITY',
  contractStart: from === null ? null : year(from),
  contractEnd: to === null ? null : year(to),
})

describe('the tariff of a kind that a location shows', () => {
  const past = tariff('past', null, 2024)
  const now = tariff('now', 2025, 2026)
  const next = tariff('next', 2027, null)

  it.each<[string, Contract[], number, string | undefined]>([
    ['the one whose contract runs', [next, past, now], year(2025), 'now'],
    ['in a gap, the next one', [past, next, now], year(2024), 'now'],
    ['in a later gap, the next one', [past, now, next], year(2026), 'next'],
    ['after all, the last one', [now, past], year(2026), 'now'],
    ['before the first, the first', [next, now], year(2020), 'now'],
    ['none of another kind', [{ ...now, direction: 'EXPORT' }], year(2025), undefined],
  ])('is %s', (_, tariffs, at, id) => {
    expect(shownTariff(tariffs, 'commodity_import', at)?.id).toBe(id)
  })
})

describe('the status of a kind', () => {
  const withStatus = (status: 'CONNECTED' | 'ERROR', ...contracts: Contract[]) =>
    contracts.map(contract => ({ ...contract, status, marketRates: false }))
  const tariffs = withStatus('CONNECTED', tariff('a', 2024, 2025), tariff('b', 2026, null))
  const pendingTariffs = [{ direction: 'IMPORT', type: 'COMMODITY', failingSince: null } as const]

  it.each([
    ['before the first contract', year(2024) - 1, 'NOT_CONNECTED'],
    ['at its start', year(2024), 'CONNECTED'],
    ['until its end', year(2025) - 1, 'CONNECTED'],
    ['from its end on, although its pattern still prices', year(2025), 'NOT_CONNECTED'],
    ['from the start of the next one', year(2026), 'CONNECTED'],
  ])('follows the tariff in force: %s', (_, at, status) => {
    expect(tariffStatusAt({ tariffs }, 'commodity_import', at)).toBe(status)
  })

  it('is ERROR if the tariff in force cannot be fetched, and NOT_CONNECTED or NOT_SUPPORTED without a tariff', () => {
    expect(
      tariffStatusAt({ tariffs: withStatus('ERROR', tariff('a', 2024, 2025)) }, 'commodity_import', year(2024)),
    ).toBe('ERROR')
    expect(
      tariffStatusAt({ tariffs: withStatus('ERROR', tariff('a', 2024, 2025)) }, 'commodity_import', year(2025)),
    ).toBe('NOT_CONNECTED')
    expect(tariffStatusAt({ tariffs }, 'local', year(2024))).toBe('NOT_CONNECTED')
    expect(tariffStatusAt({ tariffs }, 'non_commodity_export', year(2024))).toBe('NOT_SUPPORTED')
  })

  it('is PENDING if a tariff is pending and none is in force', () => {
    expect(tariffStatusAt({ tariffs, pendingTariffs }, 'commodity_import', year(2025))).toBe('PENDING')
    expect(tariffStatusAt({ tariffs, pendingTariffs }, 'commodity_import', year(2024))).toBe('CONNECTED')
  })
})

describe('the structure of a tariff', () => {
  const band = (validFrom: number, validTo: number): TimeBand => ({
    validFrom,
    validTo,
    rate: [
      { fixed: 1n, to: 5n, surchargeFixed: 0n, surchargePercentage: 0n },
      { fixed: 2n, to: null, surchargeFixed: 0n, surchargePercentage: 0n },
    ],
  })
  const schedule = (...hours: TimeBand[]) => [
    { months: ['All' as const], dates: [], daysAndHours: [{ days: ['All' as const], hours }] },
  ]

  it.each([
    ['FIXED', false, schedule(band(0, 86_400))],
    ['TIME_OF_DAY', false, schedule(band(0, 21_600), band(21_600, 86_400))],
    ['MARKET', true, schedule(band(0, 86_400))],
    ['DYNAMIC', true, schedule(band(0, 21_600), band(21_600, 86_400))],
  ])('is %s', (structure, marketRates, entries) => {
    expect(structureType({ marketRates, contractStart: null, schedule: entries }, 0)).toBe(structure)
  })
})
