import type { ClickHouse } from '../platform/clickhouse/clickhouse.ts'
import type { Span, Tenant } from '../platform/clickhouse/meter-cost-reads.ts'
import type { MeterCostRow } from '../platform/clickhouse/meter-cost-row.ts'
import { mostSpans, rowsOfSpans } from '../platform/clickhouse/meter-cost-spans.ts'
import { openTurns } from '../platform/event-loop-turn.ts'
import { type Cluster, hullOf, isEstimate, isTiered, monthsOf, touches } from './lane-group.ts'

/** Stored rows of clusters, by cluster; null where they are too many to be held. */
export type StoredRows = ReadonlyMap<Cluster, readonly MeterCostRow[] | null>

type Gathered = Map<Cluster, MeterCostRow[] | null>

type Ask = { readonly cluster: Cluster; readonly span: Span }

const placeOf = ({ locationId, tariffDirection }: MeterCostRow): string => `${locationId}/${tariffDirection}`

const noPieces: readonly never[] = []

/** A row is costed anew from its record: of many long rows the pieces would fill the memory. */
const withoutPieces = (row: MeterCostRow): MeterCostRow => (row.pieces.length > 1 ? { ...row, pieces: noPieces } : row)

/** Cut the asks of one account and mode into as few statements as hold them. */
const statementsOf = (asks: readonly Ask[]): readonly (readonly Ask[])[] => {
  const statements: Ask[][] = []
  let [locations, spans] = [new Set<string>(), new Set<string>()]
  for (const ask of asks.toSorted((a, b) => a.span.from - b.span.from)) {
    const { span, cluster } = ask
    locations.add(cluster.group.locationId)
    spans.add(`${span.from}/${span.to}`)
    const last = statements.at(-1)
    if (last !== undefined && locations.size <= mostSpans.locations && spans.size <= mostSpans.spans) last.push(ask)
    else {
      statements.push([ask])
      locations = new Set([cluster.group.locationId])
      spans = new Set([`${span.from}/${span.to}`])
    }
  }
  return statements
}

const readStatement = async (db: ClickHouse, tenant: Tenant, asks: readonly Ask[], gathered: Gathered, most: number): Promise<void> => {
  const byPlace = Map.groupBy(asks, ({ cluster: { group } }) => `${group.locationId}/${group.direction}`)
  const spans = asks.map(({ cluster: { group }, span }) => ({ ...span, locationId: group.locationId }))
  const turns = openTurns()
  for await (const rows of rowsOfSpans(db, tenant, spans)) {
    if (turns.isOver()) await turns.next()
    for (const stored of rows) {
      const row = withoutPieces(stored)
      for (const { cluster, span } of byPlace.get(placeOf(row)) ?? []) {
        const own = touches(row, span) ? gathered.get(cluster) : null
        if (own === null || own === undefined) continue
        if (own.length < most || !isTiered(cluster.group)) own.push(row)
        else gathered.set(cluster, null)
      }
    }
  }
}

const read = async (db: ClickHouse, asks: readonly Ask[], most: number): Promise<StoredRows> => {
  const stored: Gathered = new Map(asks.map(({ cluster }) => [cluster, []]))
  const tenants = Map.groupBy(asks, ({ cluster: { group } }) => `${group.tenant.accountId}/${group.tenant.liveMode}`)
  for (const own of tenants.values()) {
    const { tenant } = (own[0] as Ask).cluster.group
    for (const statement of statementsOf(own)) await readStatement(db, tenant, statement, stored, most)
  }
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
 * Most clusters need one statement together. Of one with tiers at most `most` rows are held.
 */
export const gatherRows = async (db: ClickHouse, clusters: readonly Cluster[], most: number): Promise<StoredRows> => {
  let asks: readonly Ask[] = clusters.map(cluster => ({ cluster, span: cluster.span }))
  const gathered = new Map<Cluster, readonly MeterCostRow[] | null>()
  for (let round = 0; asks.length > 0; round += 1) {
    const stored = await read(db, asks, most)
    const wider: Ask[] = []
    for (const { cluster, span } of asks) {
      const rows = stored.get(cluster) ?? null
      gathered.set(cluster, rows)
      if (rows === null) continue
      const needed = neededSpan(cluster, span, rows, round)
      if (needed.from < span.from || needed.to > span.to) wider.push({ cluster, span: needed })
    }
    asks = wider
  }
  return gathered
}
