import { setTimeout as sleep } from 'node:timers/promises'
import type { BenchSystem, OpenBench } from './bench-system.ts'
import { planOf, runLoadOn } from './end-to-end.ts'
import { sumOf } from './samples.ts'

/** Figures of a fleet. `startSeconds`: later start with its locations; null for several processes. */
export type GrowthFigures = {
  readonly locations: number
  readonly recordsPerSecond: number
  /** CPU time of the roles for each record, after each object was seen. */
  readonly cpuMicroseconds: number
  readonly startSeconds: number | null
  readonly idleMb: number
  readonly loadedMb: number
}

const residentMb = async (system: BenchSystem): Promise<number> =>
  sumOf(await system.samples(), 'wattledger_process_resident_memory_bytes') / 1e6

/** Measure a fleet: a start, the memory after it, and records at the full rate. The figures are of the second half. */
export const growthFigures = async (open: OpenBench, locations: number, seconds: number): Promise<GrowthFigures> => {
  await using system = await open()
  const load = { seconds, rate: null, locations, connections: 8 }
  const plan = await planOf(system, load, 500)
  const startSeconds = await system.restartSeconds()
  await sleep(500)
  const idleMb = await residentMb(system)
  const { hostname, port } = new URL(system.gatewayUrl())
  const { secondHalf, rssMb } = await runLoadOn(system, load, { ...plan, host: hostname, port: Number(port) })
  return { locations, ...secondHalf, startSeconds, idleMb, loadedMb: rssMb }
}
