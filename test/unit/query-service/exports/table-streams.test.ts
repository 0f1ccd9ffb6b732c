import { readdirSync } from 'node:fs'
import { open, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import {
  openTableStreams,
  type TableChunks,
  type WriteTable,
} from '../../../../services/query-service/exports/table-streams.ts'
import { acceptedValue } from '../../../support/accepted-value.ts'
import { makeTestFolder } from '../../../support/stores/postgres.ts'

const never = new AbortController().signal

/** Writer of some texts into one open file, as the engine writes. It fails at the end if `failure` is given. */
const writerOf =
  (texts: readonly string[], failure?: Error): WriteTable =>
  async (path, signal) => {
    await using file = await open(path, 'w')
    for (const text of texts) {
      signal.throwIfAborted()
      await file.write(text)
      await sleep(15)
    }
    if (failure !== undefined) throw failure
  }

const textOf = async (chunks: TableChunks): Promise<string> =>
  Buffer.concat(await Array.fromAsync(chunks)).toString('utf8')

const openIn = () => {
  const parent = makeTestFolder()
  const stack = new AsyncDisposableStack()
  return {
    streams: openTableStreams(parent, stack),
    files: () => readdirSync(join(parent, 'exports', 'streams')),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}

describe('a stream of a table', () => {
  it('has all bytes of a file that grows meanwhile, and leaves no file', async () => {
    await using opened = openIn()
    const parts = ['a'.repeat(300_000), 'b', 'c'.repeat(700_000)]
    const chunks = acceptedValue(await opened.streams.open('acc_1', writerOf(parts), never))
    expect((await textOf(chunks)) === parts.join('')).toBe(true)
    expect(opened.files()).toEqual([])
  })

  it('is the only one of its account until its end', async () => {
    await using opened = openIn()
    const openFor = (account: string) => opened.streams.open(account, writerOf(['a', 'b']), never)
    const first = acceptedValue(await openFor('acc_1'))
    expect(await openFor('acc_1')).toMatchObject({ ok: false, refusal: { code: 'too_many_exports' } })
    const other = acceptedValue(await openFor('acc_2'))
    expect(await textOf(first)).toBe('ab')
    await other.return?.()
    for (const account of ['acc_1', 'acc_2']) expect(await textOf(acceptedValue(await openFor(account)))).toBe('ab')
  })

  it('ends with the failure of its writer, also after the first bytes, and never as if it was complete', async () => {
    await using opened = openIn()
    const failure = new Error('The engine stopped.')
    const chunks = acceptedValue(await opened.streams.open('acc_1', writerOf(['a', 'b'], failure), never))
    await expect(textOf(chunks)).rejects.toThrow(failure)
    await expect(opened.streams.open('acc_1', writerOf([], failure), never)).rejects.toThrow(failure)
    expect(opened.files()).toEqual([])
    expect(await textOf(acceptedValue(await opened.streams.open('acc_1', writerOf(['a']), never)))).toBe('a')
  })

  it('ends its writer if the reader stops, or if the request ends before the first byte', async () => {
    await using opened = openIn()
    const ended: string[] = []
    const endless: WriteTable = async (path, signal) => {
      await writeFile(path, 'a')
      await sleep(60_000, undefined, { signal }).catch(() => ended.push('with bytes'))
      signal.throwIfAborted()
    }
    const chunks = acceptedValue(await opened.streams.open('acc_1', endless, never))
    await chunks.next()
    await chunks.return?.()
    const request = new AbortController()
    const silent: WriteTable = async (_, signal) => {
      await sleep(60_000, undefined, { signal }).catch(() => ended.push('without bytes'))
      signal.throwIfAborted()
    }
    const opening = opened.streams.open('acc_1', silent, request.signal)
    request.abort()
    await expect(opening).rejects.toThrow()
    expect([ended, opened.files()]).toEqual([['with bytes', 'without bytes'], []])
  })
})
