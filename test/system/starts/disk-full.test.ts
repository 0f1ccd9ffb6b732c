import { closeSync, openSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { faultsOf } from '../../support/ledger/audit.ts'
import { readJournal } from '../../support/ledger/journal.ts'
import { openLedger } from '../../support/ledger/ledger.ts'
import { seededRandom } from '../../support/random.ts'
import { freeBytesOf, mountSmallDisk, unmountDisk } from '../../support/stores/small-disk.ts'
import { login } from '../../support/system/client.ts'
import { dataFolder, type RunningSystem, removeData, startSystem } from '../../support/system/running-system.ts'
import { until } from '../../support/system/until.ts'

const mebibyte = 1_048_576

/** Write a file until the disk is full, at the end at the speed of a disk. */
const fillDisk = async (disk: string, file: string): Promise<void> => {
  const descriptor = openSync(file, 'a')
  const block = Buffer.alloc(mebibyte, 1)
  try {
    for (;;) {
      writeSync(descriptor, block)
      if (freeBytesOf(disk) < 48 * mebibyte) await sleep(4)
    }
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOSPC')) throw error
  } finally {
    closeSync(descriptor)
  }
}

/** Wait until the journal has enough answers, or the system has ended. */
const untilAnswered = (system: RunningSystem, answers: () => number, enough: number): Promise<number> =>
  until(
    () => {
      if (system.process.exitCode !== null || system.process.signalCode !== null)
        throw new Error(system.output().slice(-2_000))
      return answers()
    },
    count => count > enough,
    60_000,
  )

/** Read the readiness of a system. */
const readiness = async ({ sandbox }: RunningSystem) => {
  const answer = await fetch(`${sandbox.base_url}/health/ready`)
  const { status, checks } = (await answer.json()) as { readonly status: string; readonly checks: object }
  return { code: answer.status, status, checks }
}

const stores = { postgres: true, clickhouse: true, log: true }

/** Submit while the disk is filled and emptied again, then audit. Returns the statuses of all answers. */
const runFull = async (system: RunningSystem, disk: string, file: string): Promise<readonly (number | null)[]> => {
  const client = await login(system.sandbox)
  const size = { locations: 4, maxTotalRecords: 3_000, maxPauseMs: 50 }
  await using ledger = await openLedger({ file, random: seededRandom(1), target: () => client, ...size })
  const statuses = () => readJournal(file).flatMap(entry => (entry.kind === 'answered' ? [entry.status] : []))
  const enough = new AbortController()
  const load = ledger.run(3, enough.signal)
  try {
    await untilAnswered(system, () => statuses().length, 20)
    await fillDisk(disk, join(disk, 'filler'))
    await untilAnswered(system, () => statuses().filter(status => status === 503).length, 5)
    await sleep(3_000)
    const degraded = { code: 200, status: 'degraded', checks: { ...stores, metering: false } }
    expect(await readiness(system)).toEqual(degraded)
    expect(await client.send('GET', '/locations?limit=1')).toMatchObject({ status: 200 })
    expect(await (await fetch(system.metricsUrl)).text()).toContain('wattledger_part_refuses{part="metering"} 1')
    rmSync(join(disk, 'filler'))
    const before = statuses().length
    const taken = () =>
      statuses()
        .slice(before)
        .filter(status => status === 200)
    await untilAnswered(system, () => taken().length, 10)
    expect(await readiness(system)).toEqual({ code: 200, status: 'ok', checks: { ...stores, metering: true } })
  } finally {
    enough.abort()
    await load
  }
  await ledger.resendUnknown()
  expect(faultsOf(await ledger.audit(client))).toEqual([])
  return statuses()
}

describe('a full disk', () => {
  it('refuses with 503, loses no accepted record, and continues after space is free', {
    timeout: 240_000,
  }, async context => {
    const disk = dataFolder()
    if (!mountSmallDisk(disk, 300)) return context.skip('a small disk needs the rights to mount')
    const folder = join(disk, 'data')
    const file = join(disk, '..', 'ledger.ndjson')
    try {
      await using system = await startSystem(folder)
      const statuses = await runFull(system, disk, file).catch(error => {
        throw new Error(`${String(error)}\n${system.output().slice(-4_000)}`, { cause: error })
      })
      expect(new Set(statuses)).toEqual(new Set([200, 503]))
      expect(await system.stop()).toBe(0)
    } finally {
      unmountDisk(disk)
      removeData(disk)
    }
  })
})
