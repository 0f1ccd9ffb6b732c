import sql from 'sql-template-tag'
import { toTimestamp } from '../column.ts'
import { type Query, readFirst } from '../database.ts'

/** Change of a source's prices: the recosted interval, half-open (ms), and the revision of the change. */
export type PriceChangeInterval = {
  readonly sourceId: string
  readonly revision: number
  readonly from: number
  readonly to: number
}

/**
 * Price change that is sent to the locations of its source. `cursor`: the last location that is done ('' before the
 * first); `page`: finished pages; `done` of `total` locations, `total` null before the first page; `turnAt`: end of the
 * last page (ms). `sendsEvents`: false for forecasts that follow a change, whose events are written already.
 */
export type PriceFanOut = PriceChangeInterval & {
  readonly cursor: string
  readonly page: number
  readonly done: number
  readonly total: number | null
  readonly turnAt: number
  readonly sendsEvents: boolean
}

/** Write a price change in its own transaction, for the fan-out to its locations. */
export const writePriceFanOut = async (
  query: Query,
  change: PriceChangeInterval,
  sendsEvents = true,
): Promise<void> => {
  await query(sql`
    insert into price_fan_outs (source_id, revision, from_time, to_time, turn_at, tells)
    values (${change.sourceId}, ${change.revision}, ${toTimestamp(change.from)}, ${toTimestamp(change.to)},
      clock_timestamp(), ${sendsEvents})`)
}

/**
 * Read the price change whose page is next: of the oldest changes of all sources, the one that has waited longest. Null
 * if none is left. Changes of one source are not joined, because their events have different intervals.
 */
export const nextPriceFanOut = (operator: Query): Promise<PriceFanOut | null> =>
  readFirst(operator)(sql`
    select source_id as "sourceId", revision, from_time as "from", to_time as "to", cursor, page,
      locations_done as done, locations_total as total, turn_at as "turnAt", tells as "sendsEvents"
    from price_fan_outs f
    where not exists (select 1 from price_fan_outs older
      where older.source_id = f.source_id and older.revision < f.revision)
    order by turn_at, source_id limit 1`)

/** Result of a page: the number of its locations, the last of them, and the number of all. */
export type FanOutStep = {
  readonly locations: number
  readonly cursor: string
  readonly total: number
  readonly isLast: boolean
}

/**
 * Move a fan-out past a page, or end it after the last page, in the transaction of the page's events. False if another
 * process was faster: then the caller must undo the transaction.
 */
export const advancePriceFanOut = async (query: Query, fanOut: PriceFanOut, step: FanOutStep): Promise<boolean> => {
  const unmoved = sql`
    source_id = ${fanOut.sourceId} and revision = ${fanOut.revision} and cursor = ${fanOut.cursor}
    and page = ${fanOut.page}`
  const moved = step.isLast
    ? await query(sql`delete from price_fan_outs where ${unmoved}`)
    : await query(sql`
        update price_fan_outs set cursor = ${step.cursor}, page = page + 1,
          locations_done = locations_done + ${step.locations},
          locations_total = ${step.total}, turn_at = clock_timestamp()
        where ${unmoved}`)
  return moved.rowCount === 1
}
