import { statfsSync } from 'node:fs'
import { currentInstant } from '../clock.ts'
import { textLiteral } from './encoding/literals.ts'

/** What the engine leaves of the disk to others: it begins no insert and no merge without that much room beside it. */
export const reservedBytes = 64 * 1_048_576

const checkIntervalMs = 10_000
/** The engine keeps the sources of a merge for eight minutes: as long can a spoiled part be put back to what it was made of. */
const mergeSourcesLifetimeMs = 480_000
/** Times of parts are whole seconds. */
const secondMs = 1_000

/** Errors of a read that a spoiled part shows: its end, its length, its sums or its file is not as written. */
export const corruptionErrorCodes: ReadonlySet<number> = new Set([32, 33, 40, 107, 246])

type QueryRows = (sql: string) => Promise<readonly (readonly unknown[])[]>

export type PartGuardOptions = {
  readonly folder: string
  readonly rows: QueryRows
  /** Read a table's parts anew from the disk: spoiled ones are set aside, those that they were merged from come back. */
  readonly reload: (table: string) => Promise<void>
  readonly log: (line: string) => void
}

export type PartGuard = {
  /** False where others took of the room that the engine leaves: what was written meanwhile may be spoiled. */
  readonly hasFreeSpace: () => boolean
  /** A read met a part that is not as written: look soon at what became a part while its sources still stand. */
  readonly reportCorruption: () => void
  readonly close: () => Promise<void>
}

/**
 * Watch over parts that a full disk spoils. Where the disk fills up while the engine writes a part, it takes the part for whole
 * without a word, though ends of files are missing (chDB 3.4.0, of merges also with fsync). So it leaves room (`reservedBytes`),
 * and where others take of that, all parts from that time are read through and spoiled ones replaced by their sources. An insert
 * of that time counts as failed: its rows come again.
 */
export const guardParts = ({ folder, rows, reload, log }: PartGuardOptions): PartGuard => {
  let lastIntactAt = currentInstant()
  let suspectSince: number | null = null
  let checking: Promise<void> | null = null
  const suspectFrom = (since: number): void => {
    suspectSince = Math.min(suspectSince ?? since, since)
  }
  const hasFreeSpace = (): boolean => {
    const { bavail, bsize } = statfsSync(folder)
    const hasSpace = bavail * bsize >= reservedBytes / 2
    if (!hasSpace) suspectFrom(lastIntactAt)
    return hasSpace
  }
  const checkParts = async (): Promise<void> => {
    const startedAt = currentInstant()
    const hadFreeSpace = hasFreeSpace()
    if (suspectSince !== null) {
      const since = suspectSince
      suspectSince = null
      await repairParts(since, { rows, reload, log }).catch(error => {
        suspectFrom(since)
        throw error
      })
    }
    lastIntactAt = startedAt
    if (!hadFreeSpace) suspectFrom(startedAt)
  }
  const checkOnce = (): void => {
    checking ??= checkParts()
      .catch(error => log(`the engine's parts could not be looked at: ${String(error)}`))
      .finally(() => {
        checking = null
      })
  }
  const timer = setInterval(checkOnce, checkIntervalMs)
  timer.unref()
  return {
    hasFreeSpace,
    reportCorruption: () => {
      suspectFrom(currentInstant() - mergeSourcesLifetimeMs)
      checkOnce()
    },
    close: async () => {
      clearInterval(timer)
      await checking
    },
  }
}

/** Read through all parts since an instant, and replace the spoiled ones. */
const repairParts = async (
  since: number,
  { rows, reload, log }: Pick<PartGuardOptions, 'rows' | 'reload' | 'log'>,
): Promise<void> => {
  for (const [table, parts] of await findCorruptParts(since - secondMs, rows)) {
    log(
      `a full disk spoiled ${parts.join(', ')} of ${table}: moved to its folder "detached", what they were merged from is read again`,
    )
    await reload(table)
  }
}

const findCorruptParts = async (since: number, rows: QueryRows): Promise<ReadonlyMap<string, readonly string[]>> => {
  const from = Math.floor(since / secondMs)
  const parts = await rows(
    `SELECT table, name FROM system.parts WHERE active AND database = currentDatabase() AND toUnixTimestamp(modification_time) >= ${from}`,
  )
  const corrupt = new Map<string, string[]>()
  for (const [table, name] of parts) {
    if (await isIntact(String(table), String(name), rows)) continue
    corrupt.set(String(table), [...(corrupt.get(String(table)) ?? []), String(name)])
  }
  return corrupt
}

/**
 * One that was merged away meanwhile still stands among the sources, and what it became is a part of the next look. Throws where it is
 * gone altogether: the look begins anew then.
 */
const isIntact = async (table: string, name: string, rows: QueryRows): Promise<boolean> => {
  const answers = await rows(
    `CHECK TABLE ${table} PART ${textLiteral(name)} SETTINGS check_query_single_value_result = 0`,
  )
  return answers.every(([part, passed]) => part !== name || Number(passed) === 1)
}
