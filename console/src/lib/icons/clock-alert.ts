import { icon } from "../icon.ts";

export default icon("M12 6v6l4 2M20 12v5M20 21h.01M21.25 8.2A10 10 0 1 0 16 21.16");
