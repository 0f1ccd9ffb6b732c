import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { CommandInput } from '../../../command-line/command.ts'
import { CommandError } from '../../../command-line/command.ts'
import type { ExportManifest, exportRetrieve } from '../../../contract/exports/export.ts'
import type { AnswerOf } from '../../../contract/operation.ts'
import { callPatiently, refusalOf } from '../../../platform/call-service.ts'
import type { ImportTarget } from '../import/import-target.ts'
import { downloadInto } from './download-file.ts'
import { openPart } from './export-file.ts'

type ExportWire = AnswerOf<typeof exportRetrieve>

/** An export to a file. `body`: of POST /exports. `out`: the file, which must not exist. */
export type ExportOrder = {
  readonly target: ImportTarget
  readonly body: object
  readonly out: string
  readonly status: CommandInput['status']
  readonly signal: AbortSignal
}

const pollMs = 500
const terminalMs = 200
const lineMs = 10_000

const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`

/** Return a function that shows a line again and again: in place on a terminal, else every 10 s. */
const startStatus = ({ write, isTerminal }: CommandInput['status']) => {
  let shownAt = performance.now()
  let isShown = false
  return {
    show: (text: string): void => {
      if (performance.now() - shownAt < (isTerminal ? terminalMs : lineMs)) return
      shownAt = performance.now()
      isShown = true
      write(isTerminal ? `\r\u001b[2K${text}` : `${text}\n`)
    },
    end: (): void => {
      if (isShown && isTerminal) write('\r\u001b[2K')
    },
  }
}

/** Create an export. A repeated call after a lost answer does not create a second export. */
const createExport = async ({ target, body, signal }: ExportOrder): Promise<ExportWire> => {
  const headers = { 'Idempotency-Key': randomUUID() }
  const call = () => target.client.call<ExportWire>('POST', '/exports', body, 'application/json', headers)
  const answer = await callPatiently(call, signal)
  if (answer.status !== 202 || answer.body === null) throw refusalOf('POST', '/exports', answer)
  return answer.body
}

/** Wait until an export is done. Throws `CommandError` with the reason if it failed. */
const waitForExport = async (
  { target, signal, out }: ExportOrder,
  id: string,
  show: (text: string) => void,
): Promise<ExportManifest> => {
  const path = `/exports/${id}`
  for (;;) {
    const answer = await callPatiently(() => target.client.call<ExportWire>('GET', path), signal)
    if (answer.status !== 200 || answer.body === null) throw refusalOf('GET', path, answer)
    const { status, manifest, error, progress } = answer.body
    if (status === 'FAILED')
      throw new CommandError(`The export failed: ${error?.message ?? 'the service gave no reason.'}`)
    if (manifest !== null) return manifest
    show(`${out}: the service has written ${megabytes(progress.bytes)}`)
    await sleep(pollMs, undefined, { signal })
  }
}

/**
 * Create an export, wait for it, download its file, and write its manifest. The file has its name when it is
 * complete. The export is deleted at the end, also after an interruption.
 */
export const runExport = async (order: ExportOrder): Promise<ExportManifest> => {
  const { target, out, status, signal } = order
  await using part = await openPart(out)
  const { show, end } = startStatus(status)
  const { id } = await createExport(order)
  const onBytes = (bytes: number, { bytes: total }: ExportManifest): void =>
    show(`${out} ${Math.floor((bytes / total) * 100)} % of ${megabytes(total)}`)
  try {
    const manifest = await waitForExport(order, id, show)
    const path = `/exports/${id}/file`
    await downloadInto(part, { client: target.client, path, ...manifest, signal, onBytes: n => onBytes(n, manifest) })
    await part.complete(manifest)
    return manifest
  } finally {
    end()
    await target.client.call('DELETE', `/exports/${id}`).catch(() => undefined)
  }
}
