import { expect, it } from 'vitest'
import { answerOffset } from '../../../../services/domain/answer-offset.ts'
import { refuseMissingTariff } from '../../../../services/domain/tariff/missing-tariff.ts'
import { createPricingPool } from '../../../../services/domain/tariff/pricing-pool.ts'
import { compileSnapshot } from '../../../../services/domain/tariff/snapshot.ts'
import type { Tariff } from '../../../../services/domain/tariff/tariff.ts'
import { allDay, at, pricing, tariff } from '../../../support/oracle/tables.ts'

const on = (day: number): number => at(`2026-06-${String(day).padStart(2, '0')}T00:00:00Z`)
const closed = (id: string, from: number, to: number): Tariff =>
  tariff(allDay(1), { id, contractStart: on(from), closedAt: on(to) })
const grid = tariff(allDay(1), { id: 'trf_grid', type: 'NON_COMMODITY', contractStart: on(12) })

it.each<[string, Tariff[], string]>([
  ['without any tariff', [], 'The location has no tariff for IMPORT at 2026-06-15T02:00:00+02:00; '],
  [
    'in a gap, with any grid fees in it',
    [closed('trf_a', 1, 10), closed('trf_b', 20, 25), grid],
    'at 2026-06-15T02:00:00+02:00: trf_a ended at 2026-06-10T02:00:00+02:00 and trf_b starts at 2026-06-20T02:00:00+02:00; ',
  ],
  ['before the first', [closed('trf_b', 20, 25)], ': the first one, trf_b, starts at 2026-06-20T02:00:00+02:00; '],
  ['after the last', [closed('trf_a', 1, 10)], ': the last one, trf_a, ended at 2026-06-10T02:00:00+02:00; '],
])('a missing tariff is reported with its gap and the tariffs around it: %s', (_, tariffs, text) => {
  const snapshot = compileSnapshot(pricing('Europe/Berlin', tariffs), createPricingPool())
  const { code, message } = refuseMissingTariff(snapshot, 'IMPORT', on(15), {
    path: '/tariffs',
    offsetOf: answerOffset(snapshot.timeZone, 120),
  })
  expect(code).toBe('no_tariff_connected')
  expect(message).toContain(text)
  expect(message).toMatch(/; post one to \/tariffs with direction IMPORT and type COMMODITY\.$/)
})
