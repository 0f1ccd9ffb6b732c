import { planWork } from '../../../services/background/plan-work.ts'
import { type Answer, type Client, listed, make, makeAccount, type Service, useService } from '../registry/service.ts'
import { allHours } from '../tariffs/all-hours.ts'

/** Tariff of a plan with one price. */
export const planTariff = (price: number, more: object = {}) => ({
  direction: 'IMPORT',
  type: 'COMMODITY',
  schedule: allHours([{ fixed: price }]),
  ...more,
})

/** Charge of a plan: a price for each day. */
export const planCharge = (price: number, more: object = {}) => ({
  kind: 'FIXED',
  name: 'Standing',
  price,
  per: 'DAY',
  ...more,
})

/** Body of a plan with one tariff and one charge. */
export const planBody = (more: object = {}) => ({
  name: 'Home',
  currency_code: 'EUR',
  tariffs: [planTariff(0.3)],
  charges: [planCharge(0.5)],
  ...more,
})

/** Return the id of the first assignment of an answer. */
export const firstAssignment = (answer: Answer): string => {
  const [first] = listed(answer)
  if (first === undefined) throw new Error(answer.text)
  return String(first['id'])
}

export const refusedWith = (status: number, code: string) => ({ status, body: { code } })

/** A service on a new database with the background work on plans, and an account in both modes. */
export type PlanFixture = {
  readonly service: Service
  readonly live: Client
  readonly test: Client
  /** Run one turn of the background work. Returns true if more work may be left. */
  readonly turn: () => Promise<boolean>
  /** Run the background work until no plan is due. Returns the number of turns. */
  readonly applyAll: () => Promise<number>
  /** Move the clock by ms. */
  readonly wait: (ms: number) => void
  readonly makePlan: (more?: object) => Promise<string>
  readonly assign: (plan: string, ...elements: readonly unknown[]) => Promise<Answer>
  /** Version and contract dates of the tariffs of a location, sorted. */
  readonly tariffsAt: (location: string) => Promise<readonly (readonly unknown[])[]>
  /** Price, days and plan of the charges of a location, sorted. */
  readonly chargesAt: (location: string) => Promise<readonly (readonly unknown[])[]>
  /** Number of events of an object. */
  readonly eventsOf: (id: string, type: string) => Promise<number>
}

/** Open the service for the tests of a file. */
export const usePlans = async (): Promise<PlanFixture> => {
  let now = Date.UTC(2026, 0, 15, 12)
  const at = () => now++
  const service = await useService(at)
  const { live, test } = await makeAccount(service)
  const publishRecosts = async (messages: Service['published']) => void service.published.push(...messages)
  const work = planWork({ database: service.database, publishRecosts: publishRecosts as never, at })
  const turn = () => work.turn({ renewLease: async () => null, signal: new AbortController().signal })
  const list = async (path: string) => listed(await live.call('GET', `${path}&limit=100`))
  return {
    service,
    live,
    test,
    turn,
    applyAll: async () => {
      for (let turns = 0; ; turns += 1) if (!(await turn())) return turns
    },
    wait: ms => {
      now += ms
    },
    makePlan: more => make(live, '/plans', planBody(more)),
    assign: (plan, ...elements) => live.call('POST', `/plans/${plan}/assignments`, elements),
    tariffsAt: async location =>
      (await list(`/tariffs?location_id=${location}`))
        .map(one => [one['plan_version'], one['contract_start_date'], one['contract_end_date']])
        .sort(),
    chargesAt: async location =>
      (await list(`/charges?location_id=${location}`))
        .map(one => [one['price'], one['start_date'], one['end_date'], one['plan_id']])
        .sort(),
    eventsOf: async (id, type) => (await list(`/events?object_id=${id}&event_type=${type}`)).length,
  }
}
