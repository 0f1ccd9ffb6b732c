import { createHash } from 'node:crypto'
import { CommandError } from '../../../command-line/command.ts'
import type { ServiceClient } from '../../../command-line/service-client.ts'
import { callPatiently } from '../../../platform/call-service.ts'
import type { FilePart } from './export-file.ts'

/** A download of `bytes` bytes. `onBytes` receives the number of bytes that the file has. */
export type Download = {
  readonly client: Pick<ServiceClient, 'download'>
  readonly path: string
  readonly bytes: number
  readonly sha256: string
  readonly signal: AbortSignal
  readonly onBytes: (bytes: number) => void
}

/** Connections in a row that may end without a new byte. */
const maxUselessConnections = 20

/**
 * Download a file into a part. After a lost connection the download continues after the last byte of the part. Throws
 * `CommandError` if the bytes differ from the hash, the part cannot be written, or the service refuses the download.
 */
export const downloadInto = async (
  part: FilePart,
  { client, path, bytes, sha256, signal, onBytes }: Download,
): Promise<void> => {
  const hash = createHash('sha256')
  let written = 0
  const readRest = async (): Promise<void> => {
    const request = () => client.download(path, { Range: `bytes=${written}-` }, signal)
    const answer = await callPatiently(async () => ({ ...(await request()), retryAfterMs: null }), signal)
    const isRest = answer.status === 206 || (answer.status === 200 && written === 0)
    if (!isRest || answer.body === null)
      throw new CommandError(`The service answered ${answer.status} to the download.`)
    for await (const chunk of answer.body) {
      // Bytes count when the file has them: a lost connection discards what is not written yet.
      await part.append(chunk)
      hash.update(chunk)
      written += chunk.length
      onBytes(written)
    }
  }
  for (let useless = 0; written < bytes; ) {
    const before = written
    const error: unknown = await readRest().then(
      () => null,
      cause => cause,
    )
    if (error instanceof CommandError || signal.aborted) throw error
    useless = written > before ? 0 : useless + 1
    if (useless === maxUselessConnections) throw error ?? new CommandError('The service ends the download early.')
  }
  if (hash.digest('hex') !== sha256)
    throw new CommandError('The downloaded file differs from its manifest. Run the command again.')
  await part.sync()
}
