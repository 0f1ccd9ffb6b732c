import type { ClickHouse } from '../platform/clickhouse/clickhouse.ts'
import { rowsOfSpan, type Span } from '../platform/clickhouse/meter-cost-reads.ts'
import type { MeterCostRow } from '../platform/clickhouse/meter-cost-row.ts'
import { type Cluster, hullOf, isEstimate, isTiered, monthsOf, touches } from './lane-group.ts'

/** Stored rows of clusters, by cluster. */
export type StoredRows = ReadonlyMap<Cluster, readonly MeterCostRow[]>

type Ask = { readonly cluster: Cluster; readonly span: Span }

/** A statement must stay below 256 KiB. */
const mostLocations = 2_000
const monthMs = 31 * 86_400_000
/** Estimates that lie across an edge of what is read may follow each other; so many of them are followed. */
const mostRounds = 6

const placeOf = ({ locationId, tariffDirection }: MeterCostRow): string => `${locationId}/${tariffDirection}`

/** Asks that one statement answers: of one account and mode, and of about the same months. */
const statementsOf = (asks: readonly Ask[]): readonly (readonly Ask[])[] => {
  const alike = Map.groupBy(asks, ({ cluster: { group }, span }) => {
    const { accountId, liveMode } = group.tenant
    return `${accountId}/${liveMode}/${Math.floor(span.from / monthMs)}/${Math.ceil(span.to / monthMs)}`
  })
  return [...alike.values()].flatMap(all =>
    Array.from({ length: Math.ceil(all.length / mostLocations) }, (_, i) => all.slice(i * mostLocations, (i + 1) * mostLocations)),
  )
}

const readStatement = async (db: ClickHouse, asks: readonly Ask[], stored: Map<Cluster, MeterCostRow[]>): Promise<void> => {
  const [first] = asks
  if (first === undefined) return
  const { tenant, direction } = first.cluster.group
  const byPlace = Map.groupBy(asks, ({ cluster: { group } }) => `${group.locationId}/${group.direction}`)
  const hull = hullOf(asks.map(({ span }) => ({ start: span.from, end: span.to })))
  const filter = {
    locationIds: [...new Set(asks.map(({ cluster }) => cluster.group.locationId))],
    ...(asks.every(({ cluster }) => cluster.group.direction === direction) ? { tariffDirection: direction } : {}),
  }
  for await (const rows of rowsOfSpan(db, tenant, filter, hull)) {
    for (const row of rows) {
      for (const { cluster, span } of byPlace.get(placeOf(row)) ?? []) if (touches(row, span)) stored.get(cluster)?.push(row)
    }
  }
}

const read = async (db: ClickHouse, asks: readonly Ask[]): Promise<StoredRows> => {
  const stored = new Map<Cluster, MeterCostRow[]>(asks.map(({ cluster }) => [cluster, []]))
  for (const statement of statementsOf(asks)) await readStatement(db, statement, stored)
  return stored
}

/** What must be read for a cluster whose rows within `span` are known: rows are written whole, and an estimate needs all that covers it. */
const neededSpan = (cluster: Cluster, span: Span, rows: readonly MeterCostRow[], round: number): Span => {
  const { group } = cluster
  const own = { start: span.from, end: span.to - 1 }
  const estimates = rows.filter(row => isEstimate(row.recordConfidence))
  if (!isTiered(group)) {
    if (round > 0) return span
    const { from, to } = hullOf([own, ...estimates])
    return { from, to: Math.max(span.to, to) }
  }
  return monthsOf(group, [own, ...cluster.records.map(({ record }) => record), ...(round > 0 ? estimates : rows)])
}

/**
 * Read what the cost of clusters depends on: the rows of their spans, and where one of those reaches further, the rows of these months too.
 * Most clusters need one statement together.
 */
export const gatherRows = async (db: ClickHouse, clusters: readonly Cluster[]): Promise<StoredRows> => {
  let asks: readonly Ask[] = clusters.map(cluster => ({ cluster, span: cluster.span }))
  const gathered = new Map<Cluster, readonly MeterCostRow[]>()
  for (let round = 0; round < mostRounds && asks.length > 0; round += 1) {
    const stored = await read(db, asks)
    const wider: Ask[] = []
    for (const { cluster, span } of asks) {
      const rows = stored.get(cluster) ?? []
      gathered.set(cluster, rows)
      const needed = neededSpan(cluster, span, rows, round)
      if (needed.from < span.from || needed.to > span.to) wider.push({ cluster, span: needed })
    }
    asks = wider
  }
  return gathered
}
