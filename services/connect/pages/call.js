// The page posts to its own address. The token in the address is its only credential.
const address = location.pathname

let token = new URLSearchParams(location.search).get('fp_cot')

/** Error of a step: of the service with its code, or of the page with the key of its text. */
export class CallError extends Error {
  constructor({ message, key, field, code, requestId }) {
    super(message)
    this.key = key
    this.field = field
    this.code = code
    this.requestId = requestId
  }
}

/** Post one step of the session. Throws `CallError` with the error of the service or of the connection. */
export const postStep = async step => {
  let answer
  try {
    const response = await fetch(address, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ connect_token: token, ...step }),
    })
    answer = await response.json()
  } catch (cause) {
    throw new CallError({ key: 'error.unreachable', cause })
  }
  if (answer.object === 'error') {
    throw new CallError({
      message: answer.message,
      field: answer.field,
      code: answer.code,
      requestId: answer.request_id,
    })
  }
  token = answer.connect_token ?? token
  return answer
}
