import { statfsSync } from 'node:fs'
import { presentInstant } from '../clock.ts'
import { textLiteral } from './literals.ts'

/** What the engine leaves of the disk to others: it begins no insert and no merge without that much room beside it. */
export const reservedBytes = 64 * 1_048_576

const lookEveryMs = 10_000
/** The engine keeps the sources of a merge for eight minutes: as long can a spoiled part be put back to what it was made of. */
const sourcesStandMs = 480_000
/** Times of parts are whole seconds. */
const secondMs = 1_000

/** Errors of a read that a spoiled part shows: its end, its length, its sums or its file is not as written. */
export const spoiledNumbers: ReadonlySet<number> = new Set([32, 33, 40, 107, 246])

type Rows = (sql: string) => Promise<readonly (readonly unknown[])[]>

export type PartGuardOptions = {
  readonly folder: string
  readonly rows: Rows
  /** Read a table's parts anew from the disk: spoiled ones are set aside, those that they were merged from come back. */
  readonly reload: (table: string) => Promise<void>
  readonly told: (line: string) => void
}

export type PartGuard = {
  /** False where others took of the room that the engine leaves: what was written meanwhile may be spoiled. */
  readonly hasRoom: () => boolean
  /** A read met a part that is not as written: look soon at what became a part while its sources still stand. */
  readonly suspect: () => void
  readonly close: () => Promise<void>
}

/**
 * Watch over parts that a full disk spoils. Where the disk fills up while the engine writes a part, it takes the part for whole
 * without a word, though ends of files are missing (chDB 3.4.0, of merges also with fsync). So it leaves room (`reservedBytes`),
 * and where others take of that, all parts from that time are read through and spoiled ones replaced by their sources. An insert
 * of that time counts as failed: its rows come again.
 */
export const guardParts = ({ folder, rows, reload, told }: PartGuardOptions): PartGuard => {
  let sound = presentInstant()
  let doubtful: number | null = null
  let looking: Promise<void> | null = null
  const doubt = (since: number): void => {
    doubtful = Math.min(doubtful ?? since, since)
  }
  const hasRoom = (): boolean => {
    const { bavail, bsize } = statfsSync(folder)
    const is = bavail * bsize >= reservedBytes / 2
    if (!is) doubt(sound)
    return is
  }
  const look = async (): Promise<void> => {
    const began = presentInstant()
    const had = hasRoom()
    if (doubtful !== null) {
      const since = doubtful
      doubtful = null
      await mend(since, { rows, reload, told }).catch(error => {
        doubt(since)
        throw error
      })
    }
    sound = began
    if (!had) doubt(began)
  }
  const lookOnce = (): void => {
    looking ??= look()
      .catch(error => told(`the engine's parts could not be looked at: ${String(error)}`))
      .finally(() => {
        looking = null
      })
  }
  const timer = setInterval(lookOnce, lookEveryMs)
  timer.unref()
  return {
    hasRoom,
    suspect: () => {
      doubt(presentInstant() - sourcesStandMs)
      lookOnce()
    },
    close: async () => {
      clearInterval(timer)
      await looking
    },
  }
}

/** Read through all parts since an instant, and replace the spoiled ones. */
const mend = async (since: number, { rows, reload, told }: Pick<PartGuardOptions, 'rows' | 'reload' | 'told'>): Promise<void> => {
  for (const [table, parts] of await spoiledParts(since - secondMs, rows)) {
    told(`a full disk spoiled ${parts.join(', ')} of ${table}: moved to its folder "detached", what they were merged from is read again`)
    await reload(table)
  }
}

const spoiledParts = async (since: number, rows: Rows): Promise<ReadonlyMap<string, readonly string[]>> => {
  const from = Math.floor(since / secondMs)
  const parts = await rows(
    `SELECT table, name FROM system.parts WHERE active AND database = currentDatabase() AND toUnixTimestamp(modification_time) >= ${from}`,
  )
  const spoiled = new Map<string, string[]>()
  for (const [table, name] of parts) {
    if (await isWhole(String(table), String(name), rows)) continue
    spoiled.set(String(table), [...(spoiled.get(String(table)) ?? []), String(name)])
  }
  return spoiled
}

/**
 * One that was merged away meanwhile still stands among the sources, and what it became is a part of the next look. Throws where it is
 * gone altogether: the look begins anew then.
 */
const isWhole = async (table: string, name: string, rows: Rows): Promise<boolean> => {
  const answers = await rows(`CHECK TABLE ${table} PART ${textLiteral(name)} SETTINGS check_query_single_value_result = 0`)
  return answers.every(([part, passed]) => part !== name || Number(passed) === 1)
}
