import { existsSync, readFileSync } from 'node:fs'
import { open } from 'node:fs/promises'

/** Prices of a location in texts per kWh: what a record there must cost. Bands are in minutes of the local day and cover it. */
export type LedgerLocation = {
  readonly kind: 'location'
  readonly locationId: string
  readonly deviceId: string
  /** The zone has this offset all year. */
  readonly offsetMinutes: number
  readonly bands: readonly { readonly fromMinute: number; readonly price: string }[]
}

/** A record as it is sent; `isGood` tells whether it must be accepted. Without a device it is the location's own. */
export type LedgerRecord = {
  readonly locationId: string
  readonly deviceId: string | null
  readonly start: number
  readonly end: number
  readonly units: 'W' | 'KW' | 'WH' | 'KWH'
  readonly value: string
  readonly sessionReferenceId: string | null
  readonly recordReferenceId: string
  readonly isGood: boolean
  /** Both absent: bought, INBOUND and IMPORT. */
  readonly energyFlowDirection?: 'INBOUND' | 'OUTBOUND'
  readonly tariffDirection?: 'IMPORT' | 'EXPORT' | 'LOCAL'
  /** Absent: measured. */
  readonly confidence?: string
}

/** What becomes of a request: taken, refused, or nobody knows. */
export type Outcome = 'ok' | 'failed' | 'unknown'

/** The batch that an answer named, with what it said of the records. */
export type LedgerReceipt = {
  readonly batchId: string
  readonly recordsSubmitted: number
  readonly recordsAccepted: number
  readonly failedNumbers: readonly number[]
}

/**
 * A submission is one operation however often it is sent; `records` are written before the first sending, `sent` before each,
 * `answered` after each. An attempt that was sent and never answered is unknown.
 */
export type JournalEntry =
  | LedgerLocation
  | { readonly kind: 'submission'; readonly operation: number; readonly records: readonly LedgerRecord[] }
  | { readonly kind: 'sent'; readonly operation: number; readonly attempt: number }
  | {
      readonly kind: 'answered'
      readonly operation: number
      readonly attempt: number
      readonly outcome: Outcome
      readonly status: number | null
      readonly receipt: LedgerReceipt | null
    }

/** The client's own book; what it holds survives the client's crash. */
export type Journal<Entry = JournalEntry> = AsyncDisposable & {
  /** Resolve once the entries are on disk. */
  readonly write: (...entries: readonly Entry[]) => Promise<void>
}

/** Open a journal for appending. Concurrent writes share a sync. */
export const openJournal = async <Entry = JournalEntry>(file: string): Promise<Journal<Entry>> => {
  const handle = await open(file, 'a')
  let waiting = ''
  let next: Promise<void> | null = null
  let last: Promise<void> = Promise.resolve()
  const flush = async (): Promise<void> => {
    const text = waiting
    waiting = ''
    next = null
    await handle.write(text)
    await handle.datasync()
  }
  return {
    write: (...entries) => {
      waiting += entries.map(entry => `${JSON.stringify(entry)}\n`).join('')
      if (next === null) {
        next = last.then(flush)
        last = next
      }
      return next
    },
    [Symbol.asyncDispose]: async () => {
      await last
      await handle.close()
    },
  }
}

/** Read a journal back; a line that a crash cut short was not written. */
export const readJournal = <Entry = JournalEntry>(file: string): readonly Entry[] => {
  if (!existsSync(file)) return []
  const lines = readFileSync(file, 'utf8').split('\n')
  return lines.slice(0, -1).map(line => JSON.parse(line) as Entry)
}
