import { describe } from 'vitest'
import { readConnectCall } from '../../../../services/connect/contract/connect-call.ts'
import { readCost } from '../../../../services/connect/contract/read-page.ts'
import { verifyNumberText } from '../../../support/exact/number-text.ts'

describe('a number text as a cost in Connect', () =>
  verifyNumberText(text => {
    const { call } = readConnectCall(new TextEncoder().encode(`{"data":{"cost":${text}}}`))
    return readCost(call.data ?? {}).ok
  }))
