import { fork } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { endProcess, nextMessage } from '../../../../support/system/child-process.ts'

const folder = mkdtempSync(join(tmpdir(), 'wattledger-busy-engine-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('the embedded log of a process', () => {
  it('commits a record while all sessions of the engine are busy', async () => {
    const { UV_THREADPOOL_SIZE: _, ...env } = process.env
    const child = fork(join(import.meta.dirname, 'busy-engine-process.ts'), [folder], { execArgv: [], env })
    const { ms, ended } = await nextMessage<{ readonly ms: number; readonly ended: number }>(child)
    expect(ended).toBe(0)
    expect(ms).toBeLessThan(1_500)
    await endProcess(child)
  })
})
