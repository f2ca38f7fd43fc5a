/** The codes of operations and causes by their names, for who reads names. */

import { Cause, Operation } from './generated/constants';

export const OPERATION_CODES: Readonly<Partial<Record<string, number>>> = Operation;
export const CAUSE_CODES: Readonly<Partial<Record<string, number>>> = Cause;
