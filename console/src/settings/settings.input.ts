/** What every input of a setting gets. */
export interface SettingInputProps {
  readonly path: string;
  readonly label: string;
  readonly hint: string;
  /** The setting as a string, in the format of the input. */
  readonly text: string;
  readonly isReadOnly: boolean;
  readonly onText: (text: string) => void;
}
