import { isSameSite } from '../../console/forms.ts'
import { startTimeSlices } from '../../platform/concurrency/time-slices.ts'
import { readMultipartForm, type UploadedFile } from '../../platform/http/multipart-form.ts'
import { readWithinLimit } from '../../platform/http/request-body.ts'

/** Largest upload in bytes, with the other fields of its form. Source: docs/rules/limits.md #objects. */
const maxUploadBytes = 15 * 2 ** 20 + 65_536

/** Fields and file of a sent form. */
export type Upload = { readonly form: URLSearchParams; readonly file: UploadedFile | null }

/**
 * Read a form with a file into memory. `too_large`: the body is above the limit. Null if the body is no form of this
 * console, or the form is from another site.
 */
export const readUpload = async (request: Request, account: string): Promise<Upload | 'too_large' | null> => {
  const type = request.headers.get('content-type') ?? ''
  if (!isSameSite(request) || !type.toLowerCase().startsWith('multipart/form-data;') || request.body === null)
    return null
  // The server reads the rest of a refused body, so that the browser shows the page.
  if (Number(request.headers.get('content-length') ?? 0) > maxUploadBytes) return 'too_large'
  const bytes = await readWithinLimit(request.body, maxUploadBytes, { account, hasCapacity: () => true })
  if (!bytes.ok) return 'too_large'
  const sent = await readMultipartForm(bytes.value, type, account)
  if (sent === null) return null
  const form = new URLSearchParams()
  for (const [name, text] of sent.fields) form.append(name, text)
  const [, file = null] = sent.files.findLast(([name, { size }]) => name === 'file' && size > 0) ?? []
  return { form, file }
}

/** Read a file in chunks, in time slices of the account. */
export async function* fileChunks({ chunks }: UploadedFile, account: string): AsyncGenerator<Uint8Array> {
  const slices = startTimeSlices(account)
  for (const chunk of chunks) {
    yield chunk
    if (slices.isOver()) await slices.pause()
  }
}
