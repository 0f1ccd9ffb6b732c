import type { Tariff } from '../../../services/domain/tariff/tariff.ts'
import { exactBody } from '../../support/exact/exact-json.ts'
import type { Random } from '../../support/ledger/random.ts'
import { tariffBody } from '../../support/scenarios/scenario-over-http.ts'
import { type AuditFixture, type CreatedLocation, priceBodies } from './create-fixture.ts'
import { nextSchedule, year } from './plan-tariffs.ts'

export type ChangeRequest = {
  readonly method: 'POST' | 'PATCH' | 'PUT' | 'DELETE'
  readonly path: string
  readonly body?: string
}

/** One change of what things cost. Sent again with the same key it is done once; `done` takes it into the world that the judge sees. */
export type Change = {
  /** Of which object: changes of one object keep their order. */
  readonly of: string
  readonly request: () => ChangeRequest
  readonly done: (answer: { readonly id?: string }) => void
}

const dayMs = 86_400_000

const create = (location: CreatedLocation, made: { tariff: Tariff }): Change => ({
  of: location.locationId,
  request: () => ({ method: 'POST', path: '/tariffs', body: exactBody(tariffBody(made.tariff, location.locationId)) }),
  done: ({ id = '' }) => {
    made.tariff = { ...made.tariff, id }
    location.tariffs = [...location.tariffs, made.tariff]
  },
})

const changeEnd = (location: CreatedLocation, id: () => string, end: number | null): Change => ({
  of: location.locationId,
  request: () => ({
    method: 'PATCH',
    path: `/tariffs/${id()}`,
    body: JSON.stringify({ contract_end_date: end === null ? null : new Date(end).toISOString() }),
  }),
  done: () => {
    location.tariffs = location.tariffs.map(tariff => (tariff.id === id() ? { ...tariff, contractEnd: end } : tariff))
  },
})

const makeVoid = (location: CreatedLocation, id: () => string): Change => ({
  of: location.locationId,
  request: () => ({ method: 'DELETE', path: `/tariffs/${id()}?void=true` }),
  done: () => {
    location.tariffs = location.tariffs.filter(tariff => tariff.id !== id())
  },
})

/** End the last tariff at an instant, follow it by another, and sometimes take that back: void the other, give the last one its end again. */
const replaceFrom = (random: Random, location: CreatedLocation, at: number): readonly Change[] => {
  const last = location.tariffs
    .filter(({ direction, type }) => direction === 'IMPORT' && type === 'COMMODITY')
    .reduce((a, b) => ((a.contractStart ?? 0) > (b.contractStart ?? 0) ? a : b))
  const start = Math.max(at, last.contractEnd ?? (last.contractStart ?? 0) + dayMs)
  const made = {
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
  const takeBack = [makeVoid(location, () => made.tariff.id), changeEnd(location, () => last.id, last.contractEnd)]
  return [...end, create(location, made), ...(random.chance(0.5) ? takeBack.slice(0, 1 + random.whole(2)) : [])]
}

/** Changes in the year of the records, or behind all of them, where they alter no cost but are told to all lanes. */
const changesOf = (random: Random, location: CreatedLocation, hasRepricing: boolean): readonly Change[] => {
  const within = year.start + 20 * dayMs + random.whole(year.end - year.start - 40 * dayMs)
  const behind = year.end + 200 * dayMs + random.whole(20 * dayMs)
  return replaceFrom(random, location, hasRepricing ? within : behind)
}

/** Plan changes of tariffs and prices in random order, those of one object in their own. */
export const planChanges = (
  random: Random,
  { locations, markets }: AuditFixture,
  hasRepricing: boolean,
): readonly Change[] => {
  const prices = markets.map(({ marketId, later }) =>
    later.flatMap(priceBodies).map(body => ({
      of: marketId,
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
    const next = left[random.whole(left.length)]?.shift()
    if (next !== undefined) planned.push(next)
  }
  return planned
}
