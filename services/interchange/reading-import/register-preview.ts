import { toSentence } from '../../contract/error.ts'
import type { Energy } from '../../domain/quantity.ts'
import {
  type OpenRegister,
  openRegister,
  type RegisterReading,
  type RegisterUpdate,
} from '../../domain/record/register.ts'
import type { TariffDirection } from '../../domain/tariff/tariff.ts'
import { startTurns } from '../../platform/concurrency/time-slices.ts'
import { objectNameText } from '../contract/file-reading.ts'
import { type FileReading, type RefusedRow, refusedRow } from '../domain/reading.ts'
import type { CheckedReading } from './check-readings.ts'

/** Interval between two readings of a register: its start in ms, and its energy in 1e-6 Wh. */
export type RegisterEnergy = { readonly direction: TariffDirection; readonly start: number; readonly energy: Energy }

type LineReading = RegisterReading & { readonly line: number }

type FileRegister = {
  readonly direction: TariffDirection
  readonly open: OpenRegister<LineReading>
  /** What the readings up to now give; null before the first ones. */
  update: RegisterUpdate<LineReading> | null
}

/** Calculates the energies between the readings of a file. */
export type RegisterPreview = {
  /** Add readings. Returns those that fail, also earlier ones about which these decide. */
  readonly add: (checked: readonly CheckedReading[]) => Promise<readonly RefusedRow[]>
  readonly energies: () => readonly RegisterEnergy[]
}

const directionOf = ({ directions }: FileReading): TariffDirection => directions?.tariffDirection ?? 'IMPORT'

const registerOf = (reading: FileReading): string => {
  const { location, device, directions } = reading
  const owner = device === null ? '' : objectNameText(device)
  const flow = directions?.energyFlowDirection ?? 'INBOUND'
  return [objectNameText(location), owner, flow, directionOf(reading)].join('\n')
}

/** Readings that are added in a turn. */
const turnReadings = 1_000

const noReadings = { readings: [], gapsAfter: new Set<LineReading>() }

/**
 * Calculate the intervals of registers by the rules of the service, as if no reading was stored before.
 * Law: readings in several calls give the intervals of one call.
 * Source: docs/rules/metering.md #register-readings.
 */
export const previewRegisters = (): RegisterPreview => {
  const registers = new Map<string, FileRegister>()
  const failed = new Set<bigint>()
  let version = 0n
  const lineReading = ({ reading, register }: CheckedReading): LineReading => {
    version += 1n
    const { line, start: time, isRestart } = reading
    return { line, time, isRestart, value: register?.value ?? null, isDoubtful: false, version, sourceVersion: version }
  }
  const addTo = async (
    key: string,
    readings: readonly CheckedReading[],
    nextTurn: () => Promise<void>,
  ): Promise<readonly RefusedRow[]> => {
    const [{ reading, register }] = readings as readonly [CheckedReading, ...CheckedReading[]]
    const known = registers.get(key) ?? {
      direction: directionOf(reading),
      open: openRegister<LineReading>(register?.rule ?? null, noReadings),
      update: null,
    }
    registers.set(key, known)
    for (let from = 0; from < readings.length; from += turnReadings) {
      await nextTurn()
      known.open.add(readings.slice(from, from + turnReadings).map(lineReading))
    }
    await nextTurn()
    known.update = known.open.update()
    return known.update.failures.flatMap(({ reading: { line, sourceVersion }, refusal: { code, message } }) => {
      if (failed.has(sourceVersion)) return []
      failed.add(sourceVersion)
      return [refusedRow(line, 'register', code, toSentence(message))]
    })
  }
  return {
    add: async checked => {
      const failures: RefusedRow[] = []
      // The console previews files on the first thread.
      const nextTurn = startTurns()
      for (const [key, readings] of Map.groupBy(checked, ({ reading }) => registerOf(reading)))
        failures.push(...(await addTo(key, readings, nextTurn)))
      return failures.sort((a, b) => a.line - b.line)
    },
    energies: () =>
      [...registers.values()].flatMap(({ direction, update }) =>
        (update?.intervals ?? []).flatMap(({ opening, consumption }) =>
          consumption === null ? [] : [{ direction, start: opening.time, energy: consumption.energy }],
        ),
      ),
  }
}
