import type { StatementRequest } from '../../contract/statements/statement-request.ts'
import { dayMs, type Interval } from '../../domain/interval.ts'
import type { Refusal } from '../../domain/refusal.ts'
import type { RowFlow } from '../../domain/statement/energy-sums.ts'
import type { Tenant } from '../../domain/tenant.ts'
import type { ClickHouse } from '../../platform/clickhouse/clickhouse.ts'
import { type CountedFacts, pageBlocks, readPageFacts } from '../../platform/clickhouse/meter-cost/statement-rows.ts'
import { locationsWithFinals } from '../../platform/postgres/statements/statements.ts'
import { withTenant } from '../../platform/postgres/transaction.ts'
import type { CachedPricing } from '../../platform/pricing-cache/pricing-cache.ts'
import { priceIntervalOf, readInclusion } from '../statements/gather-records.ts'
import {
  type BillingTerms,
  loadAllBillingTerms,
  readFromOf,
  readsSessions,
  type StatementPlan,
  sourcesOf,
  spanOf,
} from '../statements/gather-statement.ts'
import { type StatementCaller, viewOf } from '../statements/run-statement.ts'
import { runWork } from '../work-thread/run-work.ts'
import type { StatementFacts, StatementHead } from '../work-thread/statement-work.ts'
import type { PageDependencies } from './batch-dependencies.ts'

/** Calculated statement of a location, or its refusal. `content`: members as JSON without braces. */
export type PageOutcome =
  | { readonly facts: StatementFacts; readonly content: string; readonly terms: BillingTerms }
  | { readonly refusal: Refusal }

/** Outcomes of the first locations, and the locations that can be calculated together after them. */
export type CalculatedPage = {
  readonly outcomes: ReadonlyMap<string, PageOutcome>
  readonly left: readonly string[]
}

/** Statements of a page: the request, and DRAFT or FINAL. */
export type PagePlan = Pick<StatementPlan, 'periods' | 'at'> & {
  readonly request: StatementRequest
  readonly status: 'DRAFT' | 'FINAL'
}

/** Maximum number of pieces of rows that are read together: about 8 MiB. */
const maxPagePieces = 60_000

/** Location whose records are read together with those of others. */
type PageLocation = {
  readonly terms: BillingTerms
  readonly span: Interval
  readonly readFrom: number
  readonly facts: CountedFacts
}

/** Load the locations that can be read together: without sessions, and without a FINAL statement to adjust. */
const loadSimpleTerms = (
  dependencies: PageDependencies,
  tenant: Tenant,
  locationIds: readonly string[],
): Promise<readonly BillingTerms[]> =>
  withTenant(dependencies.database, tenant, async transaction => {
    const terms = await loadAllBillingTerms(dependencies, transaction, locationIds)
    const withFinals = await locationsWithFinals(transaction, locationIds)
    return [...terms.values()].filter(one => !withFinals.has(one.location.id) && !readsSessions(one))
  })

const intervalOf = (locations: readonly Pick<PageLocation, 'span' | 'readFrom'>[]) => ({
  from: Math.min(...locations.map(({ readFrom }) => readFrom)),
  to: Math.max(...locations.map(({ span }) => span.end)),
})

/**
 * Return the locations whose charges read equally many days, for the first location, up to `maxPagePieces`; and those
 * that are left for another read. A location with more, or with long rows that start earlier, is in neither list.
 */
const chooseLocations = async (
  db: ClickHouse,
  tenant: Tenant,
  terms: readonly BillingTerms[],
  { request }: PagePlan,
): Promise<{ readonly chosen: readonly PageLocation[]; readonly left: readonly string[] }> => {
  const found = terms.map(one => ({
    terms: one,
    span: spanOf(one.timeZone, request),
    readFrom: readFromOf(one, request),
  }))
  const lengthOf = ({ span, readFrom }: (typeof found)[number]) => Math.round((span.start - readFrom) / 86_400_000)
  const [first] = found
  if (first === undefined) return { chosen: [], left: [] }
  const alike = found.filter(one => lengthOf(one) === lengthOf(first))
  const locationIds = alike.map(one => one.terms.location.id)
  const interval = intervalOf(alike)
  const facts = await readPageFacts(db, { tenant, locationIds, ...interval })
  const chosen: PageLocation[] = []
  const left: string[] = []
  let pieces = 0
  for (const one of alike) {
    const known = facts.get(one.terms.location.id)
    if (known === undefined || known.pieces > maxPagePieces) continue
    if (known.longRows !== null && known.longRows.start < interval.from - dayMs) continue
    pieces += known.pieces
    if (pieces > maxPagePieces) left.push(one.terms.location.id)
    else chosen.push({ ...one, facts: known })
  }
  return { chosen, left }
}

/** Everything that the statements of a page are calculated from. */
const gatherPage = async (
  { clickHouse, pricing }: PageDependencies,
  tenant: Tenant,
  locations: readonly PageLocation[],
  includeDevices: StatementRequest['includeDevices'],
) => {
  const locationIds = locations.map(({ terms }) => terms.location.id)
  const inclusionOf = ({ terms, facts }: PageLocation) =>
    readInclusion(clickHouse, { tenant, locationId: terms.location.id, includeDevices }, facts.kinds)
  const inclusions: Readonly<Record<RowFlow, boolean>>[] = []
  for (const one of locations) inclusions.push(await inclusionOf(one))
  const [bytes, prices] = await Promise.all([
    pageBlocks(clickHouse, { tenant, locationIds, ...intervalOf(locations) }),
    pricing.gatherNewest(
      locations.map(({ terms, span, facts }) => ({
        ...tenant,
        locationId: terms.location.id,
        from: Math.max(0, priceIntervalOf(span, facts.longRows).start),
      })),
    ),
  ])
  return { blocks: [bytes], prices, inclusions }
}

/** Return the input of one statement. Undefined if the prices of its location cannot be compiled. */
const inputOf = (
  caller: StatementCaller,
  plan: PagePlan,
  { terms, span, readFrom, facts }: PageLocation,
  includesDevices: Readonly<Record<RowFlow, boolean>>,
  prices: CachedPricing | undefined,
) => {
  if (prices === undefined) return undefined
  const statement = { ...plan, terms, finals: [] }
  const priceInterval = priceIntervalOf(span, facts.longRows)
  const records = { locationId: terms.location.id, span, includesDevices, priceInterval }
  return {
    ...sourcesOf(statement, prices.snapshot, records),
    readFrom,
    view: viewOf(caller, statement, plan.status),
  }
}

const decoder = new TextDecoder()

/** Calculate the statements of gathered locations in one work of the thread. */
const calculateInputs = async (
  { thread }: PageDependencies,
  { caller, signal }: StatementCaller,
  blocks: readonly Buffer[],
  statements: readonly NonNullable<ReturnType<typeof inputOf>>[],
  termsOf: ReadonlyMap<string, BillingTerms>,
): Promise<ReadonlyMap<string, PageOutcome>> => {
  const bytes = blocks.reduce((sum, { length }) => sum + length, 0)
  const work = await runWork(thread, {
    name: 'statementPage',
    input: { blocks, statements },
    isSmall: false,
    bytes,
    account: caller.accountId,
    signal,
  })
  const outcomes = new Map<string, PageOutcome>()
  if (!work.ok) return outcomes
  const { head, answer } = work.value
  const contents = 'chunks' in answer ? answer.chunks[Symbol.asyncIterator]() : null
  for (const [index, one] of (head as readonly StatementHead[]).entries()) {
    const id = statements[index]?.records.locationId ?? ''
    if (one.state === 'REFUSED') outcomes.set(id, { refusal: one.refusal })
    if (one.state !== 'CALCULATED') continue
    const step = await contents?.next()
    if (step === undefined || step.done === true) throw new Error('A calculated statement has no content.')
    outcomes.set(id, {
      facts: one.facts,
      content: decoder.decode(step.value),
      terms: termsOf.get(id) as BillingTerms,
    })
  }
  await contents?.return?.()
  return outcomes
}

/**
 * Calculate the statements of the first locations of a page together: few reads of both databases, and one work of the
 * thread. At most `maxPagePieces` pieces are in memory. Locations that cannot be read together with others
 * have no outcome; neither have those whose records changed meanwhile.
 * Throws `Failure` if a store is unavailable.
 */
export const calculatePage = async (
  dependencies: PageDependencies,
  request: StatementCaller,
  locationIds: readonly string[],
  plan: PagePlan,
): Promise<CalculatedPage> => {
  const tenant = { accountId: request.caller.accountId, liveMode: request.caller.liveMode }
  const terms = await loadSimpleTerms(dependencies, tenant, locationIds)
  const { chosen: locations, left } = await chooseLocations(dependencies.clickHouse, tenant, terms, plan)
  if (locations.length === 0) return { outcomes: new Map(), left: [] }
  const { blocks, prices, inclusions } = await gatherPage(dependencies, tenant, locations, plan.request.includeDevices)
  const inputs = locations.map((one, index) =>
    inputOf(
      request,
      plan,
      one,
      inclusions[index] as Readonly<Record<RowFlow, boolean>>,
      prices.get(one.terms.location.id),
    ),
  )
  const statements = inputs.filter(input => input !== undefined)
  const termsOf = new Map(locations.map(one => [one.terms.location.id, one.terms]))
  // Two calculations at once would take turns in the thread and end together: none would run during the next reads.
  const release = await dependencies.turns.acquire(tenant.accountId, request.signal)
  try {
    return { outcomes: await calculateInputs(dependencies, request, blocks, statements, termsOf), left }
  } finally {
    release?.()
  }
}
