import type { Tariff } from '../../../services/domain/tariff/tariff.ts'
import { exactBody } from '../../support/exact/exact-json.ts'
import type { Random } from '../../support/random.ts'
import { tariffBody } from '../../support/scenarios/scenario-over-http.ts'
import { type AuditFixture, type CreatedLocation, priceBodies } from './create-fixture.ts'
import { nextSchedule, year } from './plan-tariffs.ts'

export type ChangeRequest = {
  readonly method: 'POST' | 'PATCH' | 'PUT' | 'DELETE'
  readonly path: string
  readonly body?: string
}

/** Change of a tariff or of market prices. `done` updates the fixture after the service has accepted the change. */
export type Change = {
  /** Id of the changed location or market. Changes of one object keep their order. */
  readonly objectId: string
  readonly request: () => ChangeRequest
  readonly done: (answer: { readonly id?: string }) => void
}

const dayMs = 86_400_000

const create = (location: CreatedLocation, created: { tariff: Tariff }): Change => ({
  objectId: location.locationId,
  request: () => ({
    method: 'POST',
    path: '/tariffs',
    body: exactBody(tariffBody(created.tariff, location.locationId)),
  }),
  done: ({ id = '' }) => {
    created.tariff = { ...created.tariff, id }
    location.tariffs = [...location.tariffs, created.tariff]
  },
})

const changeEnd = (location: CreatedLocation, id: () => string, end: number | null): Change => ({
  objectId: location.locationId,
  request: () => ({
    method: 'PATCH',
    path: `/tariffs/${id()}`,
    body: JSON.stringify({ contract_end_date: end === null ? null : new Date(end).toISOString() }),
  }),
  done: () => {
    location.tariffs = location.tariffs.map(tariff => (tariff.id === id() ? { ...tariff, contractEnd: end } : tariff))
  },
})

const voidTariff = (location: CreatedLocation, id: () => string): Change => ({
  objectId: location.locationId,
  request: () => ({ method: 'DELETE', path: `/tariffs/${id()}?void=true` }),
  done: () => {
    location.tariffs = location.tariffs.filter(tariff => tariff.id !== id())
  },
})

/**
 * End the last tariff at an instant and create a successor. Some changes are undone: the successor is voided, and the
 * last tariff gets its former end again.
 */
const replaceFrom = (random: Random, location: CreatedLocation, at: number): readonly Change[] => {
  const last = location.tariffs
    .filter(({ direction, type }) => direction === 'IMPORT' && type === 'COMMODITY')
    .reduce((a, b) => ((a.contractStart ?? 0) > (b.contractStart ?? 0) ? a : b))
  const start = Math.max(at, last.contractEnd ?? (last.contractStart ?? 0) + dayMs)
  const created = {
    tariff: {
      ...last,
      id: '',
      marketRates: false,
      contractStart: start,
      contractEnd: null,
      schedule: nextSchedule(random),
    },
  }
  const end = last.contractEnd === null ? [changeEnd(location, () => last.id, start)] : []
  const undo = [voidTariff(location, () => created.tariff.id), changeEnd(location, () => last.id, last.contractEnd)]
  return [...end, create(location, created), ...(random.chance(0.5) ? undo.slice(0, 1 + random.below(2)) : [])]
}

/** Plan changes in the year of the records, or after all records: these alter no cost, but reach all partitions. */
const changesOf = (random: Random, location: CreatedLocation, hasRepricing: boolean): readonly Change[] => {
  const within = year.start + 20 * dayMs + random.below(year.end - year.start - 40 * dayMs)
  const after = year.end + 200 * dayMs + random.below(20 * dayMs)
  return replaceFrom(random, location, hasRepricing ? within : after)
}

/** Plan changes of tariffs and prices in random order. Changes of the same object keep their order. */
export const planChanges = (
  random: Random,
  { locations, markets }: AuditFixture,
  hasRepricing: boolean,
): readonly Change[] => {
  const prices = markets.map(({ marketId, later }) =>
    later.flatMap(priceBodies).map(body => ({
      objectId: marketId,
      request: () => ({ method: 'PUT', path: `/markets/${marketId}/prices`, body }) as const,
      done: () => undefined,
    })),
  )
  const queues: Change[][] = [...locations.map(location => [...changesOf(random, location, hasRepricing)]), ...prices]
  const planned: Change[] = []
  for (
    let left = queues.filter(queue => queue.length > 0);
    left.length > 0;
    left = left.filter(queue => queue.length > 0)
  ) {
    const next = left[random.below(left.length)]?.shift()
    if (next !== undefined) planned.push(next)
  }
  return planned
}
