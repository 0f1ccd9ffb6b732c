import { setTimeout as sleep } from 'node:timers/promises'
import { type Client, login } from '../../support/system/client.ts'
import type { OpenBench } from '../bench-system.ts'
import { createFleet } from '../fleet/fleet.ts'
import { insertBillRows } from './bill-rows.ts'
import { yearOfCandidates, yearOfRows } from './simulations.ts'

/**
 * Longest times in ms of a read of a location: while a simulation of a year with 50 candidates runs, and alone for the
 * same number of reads. `seconds`: time from the request to the result of the simulation. Promise P15.
 */
export type WaitFigures = { readonly longestMs: number; readonly aloneMs: number; readonly seconds: number }

/** Pause in ms between two reads. */
const pauseMs = 5

/** Read a location again and again while a condition holds. Returns the times of the reads in ms. */
const timeReads = async (client: Client, location: string, goesOn: (reads: number) => boolean) => {
  const times: number[] = []
  while (goesOn(times.length)) {
    const startedAt = performance.now()
    await client.ask('GET', `/locations/${location}`)
    times.push(performance.now() - startedAt)
    await sleep(pauseMs)
  }
  return times
}

/** Request the simulation and wait for its result. */
const simulateYear = async (client: Client, location: string): Promise<void> => {
  const sent = (await client.ask('POST', '/simulations', yearOfCandidates(location))) as { id: string; status: string }
  for (let { status } = sent; status === 'PENDING'; await sleep(100)) {
    const answer = (await client.ask('GET', `/simulations/${sent.id}`)) as { status: string }
    status = answer.status
  }
}

/** Measure how long another request waits while a large simulation runs. */
export const waitFigures = async (open: OpenBench): Promise<WaitFigures> => {
  await using system = await open()
  const accountId = system.sandbox().account_id
  const { locations } = await createFleet(await login(system.sandbox()), 2, 0)
  const [simulated = '', other = ''] = locations
  await system.fill(db => insertBillRows(db, yearOfRows(accountId, simulated)))
  const client = await login(system.sandbox())
  await simulateYear(client, simulated)
  let isRunning = true
  const startedAt = performance.now()
  const simulation = simulateYear(client, simulated).finally(() => {
    isRunning = false
  })
  const during = await timeReads(client, other, () => isRunning)
  await simulation
  const seconds = (performance.now() - startedAt) / 1000
  const alone = await timeReads(client, other, reads => reads < during.length)
  return { longestMs: Math.max(...during), aloneMs: Math.max(...alone), seconds }
}
